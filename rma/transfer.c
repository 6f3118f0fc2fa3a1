#include "rma/transfer.h"

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/port/port.h"
#include "rma/message/message.h"
#include "rma/region/rkey.h"
#include "rma/transport/transport.h"
#include "src/mpi/mpi.h"
#include "src/profile/profile.h"
#include "src/progress/request.h"
#include "src/progress/wait.h"

/* Finds the offset that a put or a get names. Waits for the rkey of a region if need be. */
static tern_status transfer_find_offset(tern_worker *worker, tern_ptr p, size_t bytes,
                                        uint64_t *offset) {
    tern_status status = tern_segment_check(worker->context, p, bytes, offset);
    if (status != TERN_OK || p.segment == 0 || tern_rank_is_direct(worker->context, p.rank))
        return status;
    tern_wait_state wait = TERN_WAIT_IN("a put or a get in registered memory");
    while ((status = tern_rkey_check(worker, p.rank, *offset, bytes)) == TERN_ERR_AGAIN &&
           !worker->in_handler) {
        tern_progress_round(worker);
        tern_rma_of(worker->context)->remote->poll(worker);
        status = tern_wait_step(worker->context, &wait, p.rank);
        if (status != TERN_OK)
            return status;
    }
    return status;
}

static tern_status check_local(const void *local, size_t bytes, const char *function) {
    if (local == NULL && bytes > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: local memory is NULL", function);
    return TERN_OK;
}

/* A remote transport returns TERN_ERR_AGAIN if another worker of this process, serving the owner,
 * has given the rkey back meanwhile; then this function tries again. A TERN_ERR_AGAIN of shm goes
 * to the caller. */
static tern_status transfer_put(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                                tern_transfer *transfer) {
    uint64_t offset = 0;
    bool remote = false;
    tern_status status = check_local(from, bytes, "tern_put");
    if (status != TERN_OK)
        return status;
    do {
        status = transfer_find_offset(worker, to, bytes, &offset);
        if (status != TERN_OK || bytes == 0)
            return status;
        status = tern_transport_to(worker->context, to.rank)
                     ->put(worker, to.rank, offset, from, bytes, transfer);
        remote = !tern_rank_is_direct(worker->context, to.rank);
    } while (status == TERN_ERR_AGAIN && remote && !worker->in_handler);
    worker->stats.puts += status == TERN_OK && remote;
    return status;
}

tern_status tern_transfer_put(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                              tern_transfer *transfer) {
    if (__builtin_expect(worker->profile == NULL, 1))
        return transfer_put(worker, to, from, bytes, transfer);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_PUT, TERN_NO_FUNCTION);
    const tern_status status = transfer_put(worker, to, from, bytes, transfer);
    tern_span_end(worker, &span, to.rank, bytes, status);
    return status;
}

tern_status tern_internal_put_remote(tern_worker *worker, tern_ptr to, const void *from,
                                     size_t bytes) {
    return tern_transfer_put(worker, to, from, bytes, NULL);
}

static tern_status transfer_get(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                                tern_transfer *transfer) {
    tern_context *context = worker->context;
    uint64_t offset = 0;
    tern_status status = transfer_find_offset(worker, from, bytes, &offset);
    if (status == TERN_OK)
        status = check_local(to, bytes, "tern_get");
    if (status != TERN_OK || bytes == 0)
        return status;
    const tern_transport_ops *transport = tern_transport_to(context, from.rank);
    if (transport == &tern_transport_shm)
        return transport->get(worker, from.rank, offset, to, bytes, transfer);
    worker->stats.gets++;
    if (worker->in_handler)
        return tern_worker_may_wait(worker, "a get from another node");
    tern_wait_state wait = TERN_WAIT_IN("tern_get");
    while ((status = transport->get(worker, from.rank, offset, to, bytes, transfer)) ==
           TERN_ERR_AGAIN) {
        tern_progress_round(worker);
        transport->poll(worker);
        status = tern_wait_step(context, &wait, from.rank);
        if (status != TERN_OK)
            return status;
    }
    return status;
}

tern_status tern_transfer_get(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                              tern_transfer *transfer) {
    if (__builtin_expect(worker->profile == NULL, 1))
        return transfer_get(worker, to, from, bytes, transfer);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_GET, TERN_NO_FUNCTION);
    const tern_status status = transfer_get(worker, to, from, bytes, transfer);
    tern_span_end(worker, &span, from.rank, bytes, status);
    return status;
}

static tern_status get_remote(tern_worker *worker, void *to, tern_ptr from, size_t bytes) {
    tern_transfer transfer = {0};
    tern_status status = transfer_get(worker, to, from, bytes, &transfer);
    return status == TERN_OK ? tern_transfer_wait(worker, &transfer) : status;
}

/* The profile's span of a get lasts until the data is there. */
tern_status tern_internal_get_remote(tern_worker *worker, void *to, tern_ptr from, size_t bytes) {
    if (__builtin_expect(worker->profile == NULL, 1))
        return get_remote(worker, to, from, bytes);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_GET, TERN_NO_FUNCTION);
    const tern_status status = get_remote(worker, to, from, bytes);
    tern_span_end(worker, &span, from.rank, bytes, status);
    return status;
}

/* Called when nothing will ask for the transfer any more, since its target is dead. */
static void transfer_give_up(tern_worker *worker, tern_transfer *transfer) {
    if (!transfer->under_way || !transfer->flies)
        return;
    tern_posting_abandon(worker, transfer->posting, false);
    transfer->under_way = false;
}

/* Tests the transfer once, without other progress. */
static tern_status transfer_look(tern_worker *worker, tern_transfer *transfer, int *done) {
    *done = 1;
    if (!transfer->under_way)
        return TERN_OK;
    tern_status status =
        tern_transport_to(worker->context, transfer->rank)->test(worker, transfer, done);
    if (*done)
        transfer->under_way = false;
    return status;
}

tern_status tern_transfer_test(tern_worker *worker, tern_transfer *transfer, int *done) {
    tern_status status = transfer_look(worker, transfer, done);
    if (status == TERN_OK && !*done) {
        tern_progress_round(worker);
        tern_look_vainly(worker);
        status = tern_glance(worker, transfer->rank);
    }
    if (status != TERN_OK)
        transfer_give_up(worker, transfer);
    return status;
}

tern_status tern_transfer_wait(tern_worker *worker, tern_transfer *transfer) {
    if (!transfer->under_way)
        return TERN_OK;
    tern_status status = worker->in_handler ? tern_worker_may_wait(worker, "tern_wait") : TERN_OK;
    tern_wait_state wait = TERN_WAIT_IN("tern_wait");
    worker->stats.trips++;
    const tern_transport_ops *remote = tern_rma_of(worker->context)->remote;
    while (status == TERN_OK) {
        int done = 0;
        status = transfer_look(worker, transfer, &done);
        if (status != TERN_OK || done)
            break;
        status =
            tern_wait_round(worker->context, &wait,
                            tern_progress_round(worker) + remote->poll(worker), transfer->rank);
    }
    if (status != TERN_OK)
        transfer_give_up(worker, transfer);
    return status;
}

void tern_transfer_forget(tern_transfer *transfer) {
    if (!transfer->under_way || !transfer->asked)
        return;
    tern_mpi_lock();
    tern_message_forget(&transfer->mpi);
    tern_mpi_unlock();
    transfer->under_way = false;
}

/* Requests that end during progress. */

bool tern_pending_look(tern_worker *worker, tern_request *request) {
    (void)request;
    (void)tern_puts_deliver(worker); /* that rank may need these puts to end the request */
    return false;
}

tern_status tern_pending_wait(tern_worker *worker, tern_request *request) {
    tern_wait_state wait = TERN_WAIT_START;
    while (tern_request_is_under_way(request)) {
        (void)tern_puts_deliver(worker); /* puts that were made meanwhile */
        (void)tern_progress_round(worker);
        if (tern_request_is_under_way(request)) /* progress ends the request after a death */
            (void)tern_wait_step(worker->context, &wait, request->rank);
    }
    return tern_request_tell(request);
}

/* Requests that hold a transfer. */

static tern_transfer transfer_of(const tern_request *request) {
    tern_transfer transfer;
    _Static_assert(sizeof transfer <= sizeof request->own, "a request has room for a transfer");
    memcpy(&transfer, request->own, sizeof transfer);
    return transfer;
}

static bool transfer_request_look(tern_worker *worker, tern_request *request) {
    tern_transfer transfer = transfer_of(request);
    int done = 0;
    tern_status status = transfer_look(worker, &transfer, &done);
    if (status == TERN_OK && !done)
        status = tern_glance(worker, transfer.rank);
    if (status != TERN_OK)
        transfer_give_up(worker, &transfer);
    memcpy(request->own, &transfer, sizeof transfer);
    if (status == TERN_OK && !done)
        return false;
    tern_request_end(request, status, 0);
    return true;
}

static tern_status transfer_request_wait(tern_worker *worker, tern_request *request) {
    tern_transfer transfer = transfer_of(request);
    return tern_request_end(request, tern_transfer_wait(worker, &transfer), 0);
}

static const tern_request_kind transfer_request = {transfer_request_look, transfer_request_wait,
                                                   NULL};

tern_status tern_transfer_started(tern_request *request, uint32_t rank,
                                  const tern_transfer *transfer, tern_status status) {
    if (status != TERN_OK)
        return status;
    tern_request_begin(request, &transfer_request, rank);
    if (transfer->under_way)
        memcpy(request->own, transfer, sizeof *transfer);
    else
        request->outcome = TERN_OK;
    return TERN_OK;
}

tern_status tern_put_start(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                           tern_request *request) {
    tern_transfer transfer = {0};
    tern_status status = tern_request_check(request, "tern_put_start");
    if (status == TERN_OK)
        status = tern_transfer_put(worker, to, from, bytes, &transfer);
    return tern_transfer_started(request, to.rank, &transfer, status);
}

tern_status tern_get_start(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                           tern_request *request) {
    tern_transfer transfer = {0};
    tern_status status = tern_request_check(request, "tern_get_start");
    if (status == TERN_OK)
        status = tern_transfer_get(worker, to, from, bytes, &transfer);
    return tern_transfer_started(request, from.rank, &transfer, status);
}

tern_status tern_atomic_start(tern_worker *worker, tern_ptr p, tern_atomic_op op, uint64_t operand,
                              uint64_t expected, uint64_t *old, tern_request *request) {
    tern_transfer transfer = {0};
    tern_status status = tern_request_check(request, "tern_atomic_start");
    if (status == TERN_OK && old == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_atomic_start: old is NULL");
    if (status == TERN_OK)
        status = tern_transfer_atomic(worker, p, op, operand, expected, old, &transfer);
    return tern_transfer_started(request, p.rank, &transfer, status);
}
