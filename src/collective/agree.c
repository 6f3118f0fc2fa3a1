#include "tern/agree.h"

#include "base/error.h"
#include "src/collective/collective.h"

tern_status tern_collective_begin(tern_worker *worker, const char *name) {
    if (worker == NULL || name == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL",
                         name != NULL ? name : "tern_collective_begin");
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    (void)tern_collective_enter(worker, name);
    worker->collective_depth++;
    return TERN_OK;
}

void tern_collective_end(tern_worker *worker) {
    if (worker != NULL && worker->collective_depth > 0 && --worker->collective_depth == 0)
        tern_collective_leave(&worker);
}

tern_status tern_agree(tern_worker *worker, tern_status status, const char *what) {
    if (worker == NULL || what == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_agree: worker or what is NULL");
    TERN_COLLECTIVE(worker, what);
    tern_status may = tern_worker_may_wait(worker, what);
    return may == TERN_OK ? tern_collective_agree(worker->context, worker, status, what) : may;
}

tern_status tern_same(tern_worker *worker, const void *data, size_t bytes, const char *what) {
    if (worker == NULL || data == NULL || what == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_same: worker, data or what is NULL");
    TERN_COLLECTIVE(worker, what);
    tern_status status = tern_worker_may_wait(worker, what);
    if (status != TERN_OK)
        return status;
    return tern_collective_same(worker->context, worker, data, bytes, what);
}

tern_status tern_sum(tern_worker *worker, uint64_t *values, size_t count) {
    if (worker == NULL || values == NULL || count > INT32_MAX)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_sum: count is %zu, or worker or values is NULL; count is at most %d",
                         count, INT32_MAX);
    TERN_COLLECTIVE(worker, "tern_sum");
    tern_status status = tern_worker_may_wait(worker, "tern_sum");
    if (status != TERN_OK)
        return status;
    return tern_collective_sum(worker->context, worker, values, (int)count);
}
