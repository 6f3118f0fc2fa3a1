#include "base/error.h"
#include "rma/notify/notify.h"
#include "rma/rows/rows.h"
#include "tern/strided.h"

/* The public functions that move rows and notify (tern/strided.h). */

static tern_status notify_section(tern_worker *worker, const char *name, tern_worker_id other,
                                  tern_ptr remote, const void *local, const tern_section *section,
                                  bool is_get, const tern_notify_options *options) {
    tern_rows rows;
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    tern_status status =
        tern_rows_of_section(worker->context, name, remote, local, section, is_get, &rows);
    return status == TERN_OK ? tern_notify_rows(worker, name, other, &rows, options) : status;
}

static tern_status notify_extents(tern_worker *worker, const char *name, tern_worker_id other,
                                  const tern_extent *extents, size_t count, bool is_get,
                                  const tern_notify_options *options) {
    tern_rows rows;
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    tern_status status =
        tern_rows_of_extents(worker->context, name, other.rank, extents, count, is_get, &rows);
    return status == TERN_OK ? tern_notify_rows(worker, name, other, &rows, options) : status;
}

tern_status tern_put_strided_notify(tern_worker *worker, tern_worker_id target, tern_ptr to,
                                    const void *from, const tern_section *section,
                                    const tern_notify_options *options) {
    return notify_section(worker, "tern_put_strided_notify", target, to, from, section, false,
                          options);
}

tern_status tern_get_strided_notify(tern_worker *worker, tern_worker_id owner, void *to,
                                    tern_ptr from, const tern_section *section,
                                    const tern_notify_options *options) {
    return notify_section(worker, "tern_get_strided_notify", owner, from, to, section, true,
                          options);
}

tern_status tern_put_vector_notify(tern_worker *worker, tern_worker_id target,
                                   const tern_extent *extents, size_t count,
                                   const tern_notify_options *options) {
    return notify_extents(worker, "tern_put_vector_notify", target, extents, count, false, options);
}

tern_status tern_get_vector_notify(tern_worker *worker, tern_worker_id owner,
                                   const tern_extent *extents, size_t count,
                                   const tern_notify_options *options) {
    return notify_extents(worker, "tern_get_vector_notify", owner, extents, count, true, options);
}
