#include "tern/strided.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/rows/rows.h"
#include "rma/transport/transport.h"
#include "src/profile/profile.h"
#include "src/progress/request.h"
#include "src/progress/wait.h"

/* The public functions of non-contiguous transfers (tern/strided.h), without those that notify
 * (rma/notify/notify_rows.c). */

/* Waits for the rkeys of the rows' regions, outside of handlers. */
static tern_status strided_await_rkeys(tern_worker *worker, const tern_rows *rows) {
    tern_wait_state wait = TERN_WAIT_IN("a strided transfer in registered memory");
    tern_status status;
    while ((status = tern_rows_check_rkeys(worker, rows)) == TERN_ERR_AGAIN &&
           !worker->in_handler) {
        tern_progress_round(worker);
        tern_rma_of(worker->context)->remote->poll(worker);
        status = tern_wait_step(worker->context, &wait, rows->rank);
        if (status != TERN_OK)
            return status;
    }
    return status;
}

static tern_status flight_wait(tern_worker *worker, tern_rows_flight *flight) {
    const uint32_t rank = flight->rows.rank;
    const tern_transport_ops *remote = tern_rma_of(worker->context)->remote;
    tern_wait_state wait = TERN_WAIT_IN("tern_wait");
    worker->stats.trips++;
    for (;;) {
        bool done = false;
        tern_status status = tern_rows_flight_advance(worker, flight, &done);
        if (done)
            return status;
        status = tern_wait_round(worker->context, &wait,
                                 tern_progress_round(worker) + remote->poll(worker), rank);
        if (status != TERN_OK) {
            tern_rows_flight_abandon(worker, flight);
            return status;
        }
    }
}

/* Moves all rows. Rows of a put do not wait for another rank, so a handler may put them. */
static tern_status rows_move(tern_worker *worker, const tern_rows *rows) {
    if (rows->bytes == 0)
        return TERN_OK;
    if (tern_rank_is_direct(worker->context, rows->rank))
        return tern_rows_copy(worker, rows, false);
    tern_status status = rows->is_get && worker->in_handler
                             ? tern_worker_may_wait(worker, "a get from another node")
                             : strided_await_rkeys(worker, rows);
    if (status != TERN_OK)
        return status;
    tern_rows_flight flight;
    tern_rows_flight_begin(&flight, rows);
    return flight_wait(worker, &flight);
}

/* checked: the status of the checks of rows. */
static tern_status strided_move(tern_worker *worker, const tern_rows *rows, tern_status checked) {
    if (checked != TERN_OK || __builtin_expect(worker->profile == NULL, 1))
        return checked == TERN_OK ? rows_move(worker, rows) : checked;
    const tern_span span =
        tern_span_begin(worker, rows->is_get ? TERN_SPAN_GET : TERN_SPAN_PUT, TERN_NO_FUNCTION);
    const tern_status status = rows_move(worker, rows);
    tern_span_end(worker, &span, rows->rank, rows->bytes, status);
    return status;
}

static tern_status strided_check_worker(const tern_worker *worker, const char *name) {
    return worker != NULL ? TERN_OK : tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
}

static tern_status strided_section(tern_worker *worker, const char *name, tern_ptr remote,
                                   const void *local, const tern_section *section, bool is_get,
                                   tern_rows *rows) {
    tern_status status = strided_check_worker(worker, name);
    return status == TERN_OK
               ? tern_rows_of_section(worker->context, name, remote, local, section, is_get, rows)
               : status;
}

static tern_status strided_extents(tern_worker *worker, const char *name, uint32_t rank,
                                   const tern_extent *extents, size_t count, bool is_get,
                                   tern_rows *rows) {
    tern_status status = strided_check_worker(worker, name);
    return status == TERN_OK
               ? tern_rows_of_extents(worker->context, name, rank, extents, count, is_get, rows)
               : status;
}

tern_status tern_put_strided(tern_worker *worker, tern_ptr to, const void *from,
                             const tern_section *section) {
    tern_rows rows;
    return strided_move(
        worker, &rows,
        strided_section(worker, "tern_put_strided", to, from, section, false, &rows));
}

tern_status tern_get_strided(tern_worker *worker, void *to, tern_ptr from,
                             const tern_section *section) {
    tern_rows rows;
    return strided_move(
        worker, &rows, strided_section(worker, "tern_get_strided", from, to, section, true, &rows));
}

tern_status tern_put_vector(tern_worker *worker, uint32_t rank, const tern_extent *extents,
                            size_t count) {
    tern_rows rows;
    return strided_move(
        worker, &rows,
        strided_extents(worker, "tern_put_vector", rank, extents, count, false, &rows));
}

tern_status tern_get_vector(tern_worker *worker, uint32_t rank, const tern_extent *extents,
                            size_t count) {
    tern_rows rows;
    return strided_move(
        worker, &rows,
        strided_extents(worker, "tern_get_vector", rank, extents, count, true, &rows));
}

/* Requests. One under way holds the address of its flight. */

static tern_rows_flight *flight_of(const tern_request *request) {
    return (tern_rows_flight *)(uintptr_t)request->own[0];
}

static tern_status flight_end(tern_request *request, tern_status status) {
    free(flight_of(request));
    return tern_request_end(request, status, 0);
}

static bool strided_request_look(tern_worker *worker, tern_request *request) {
    tern_rows_flight *flight = flight_of(request);
    bool done = false;
    tern_status status = tern_rows_flight_advance(worker, flight, &done);
    if (!done && (status = tern_glance(worker, flight->rows.rank)) == TERN_OK)
        return false;
    tern_rows_flight_abandon(worker, flight);
    (void)flight_end(request, status);
    return true;
}

static tern_status strided_request_wait(tern_worker *worker, tern_request *request) {
    return flight_end(request, flight_wait(worker, flight_of(request)));
}

static const tern_request_kind strided_request = {strided_request_look, strided_request_wait, NULL};

/* Starts to move the rows of a request. checked: the status of the checks of rows. */
static tern_status strided_start(tern_worker *worker, const char *name, tern_request *request,
                                 const tern_rows *rows, tern_status checked) {
    tern_status status = checked == TERN_OK ? tern_request_check(request, name) : checked;
    if (status != TERN_OK)
        return status;
    if (rows->bytes == 0 || tern_rank_is_direct(worker->context, rows->rank)) {
        status = strided_move(worker, rows, TERN_OK);
        if (status != TERN_OK)
            return status;
        tern_request_begin(request, &strided_request, rows->rank);
        request->outcome = TERN_OK;
        return TERN_OK;
    }
    status = rows->is_get && worker->in_handler
                 ? tern_worker_may_wait(worker, "a get from another node")
                 : strided_await_rkeys(worker, rows);
    if (status != TERN_OK)
        return status;
    tern_rows_flight *flight = tern_rows_flight_create(rows);
    if (flight == NULL)
        return tern_fail(TERN_ERR_MEMORY, "%s: no memory for a request", name);
    bool done = false;
    status = tern_rows_flight_advance(worker, flight, &done);
    if (done && status != TERN_OK) {
        free(flight);
        return status;
    }
    tern_request_begin(request, &strided_request, rows->rank);
    request->own[0] = (uintptr_t)flight;
    if (done)
        (void)flight_end(request, TERN_OK);
    return TERN_OK;
}

tern_status tern_put_strided_start(tern_worker *worker, tern_ptr to, const void *from,
                                   const tern_section *section, tern_request *request) {
    static const char name[] = "tern_put_strided_start";
    tern_rows rows;
    return strided_start(worker, name, request, &rows,
                         strided_section(worker, name, to, from, section, false, &rows));
}

tern_status tern_get_strided_start(tern_worker *worker, void *to, tern_ptr from,
                                   const tern_section *section, tern_request *request) {
    static const char name[] = "tern_get_strided_start";
    tern_rows rows;
    return strided_start(worker, name, request, &rows,
                         strided_section(worker, name, from, to, section, true, &rows));
}

tern_status tern_put_vector_start(tern_worker *worker, uint32_t rank, const tern_extent *extents,
                                  size_t count, tern_request *request) {
    static const char name[] = "tern_put_vector_start";
    tern_rows rows;
    return strided_start(worker, name, request, &rows,
                         strided_extents(worker, name, rank, extents, count, false, &rows));
}

tern_status tern_get_vector_start(tern_worker *worker, uint32_t rank, const tern_extent *extents,
                                  size_t count, tern_request *request) {
    static const char name[] = "tern_get_vector_start";
    tern_rows rows;
    return strided_start(worker, name, request, &rows,
                         strided_extents(worker, name, rank, extents, count, true, &rows));
}
