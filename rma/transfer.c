#include "tern/transfer.h"

#include "base/error.h"
#include "rma/notify/request.h"
#include "rma/state.h"
#include "src/collective/collective.h"
#include "src/context.h"
#include "src/progress/wait.h"

/* Aligned words are copied whole (single-copy atomicity, transfer.h); the rest by the C library. */
void tern_copy(void *to, const void *from, size_t bytes) {
    uintptr_t both = (uintptr_t)to | (uintptr_t)from;
    if (bytes == 8 && both % 8 == 0)
        /* R10 */
        __atomic_store_n((uint64_t *)to, __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    else if (bytes == 4 && both % 4 == 0)
        /* R10 */
        __atomic_store_n((uint32_t *)to, __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    else if (bytes == 2 && both % 2 == 0)
        /* R10 */
        __atomic_store_n((uint16_t *)to, __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

/* Of a rank of another node only the form: what it has registered, its key tells. */
static tern_status check_region(const tern_context *context, tern_ptr p, size_t bytes,
                                uint64_t *offset) {
    tern_status status = tern_region_place(p, offset);
    if (status == TERN_OK && tern_is_near(context, p.rank) &&
        tern_region_look(context, p.rank, *offset, bytes) == NULL)
        status = tern_fail(TERN_ERR_RANGE,
                           "%zu bytes at offset %llu of region %u of rank %u are not registered "
                           "(any more)",
                           bytes, (unsigned long long)p.offset, p.segment, p.rank);
    return status;
}

tern_status tern_segment_check(const tern_context *context, tern_ptr p, size_t bytes,
                               uint64_t *offset) {
    if (p.rank >= context->size && tern_is_destroyed(context))
        return tern_destroyed_fail("a transfer or an atomic");
    if (p.rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "rank %u of %u", p.rank, context->size);
    if (p.segment != 0)
        return check_region(context, p, bytes, offset);
    const tern_layout *layout = &tern_rma_of(context)->layout;
    uint64_t at = p.offset - TERN_PTR_ORIGIN;
    if (bytes > layout->heap_bytes || at > layout->heap_bytes - bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "%zu bytes at offset %llu of the segment of rank %u; it has %zu bytes "
                         "from %u on",
                         bytes, (unsigned long long)p.offset, p.rank, layout->heap_bytes,
                         TERN_PTR_ORIGIN);
    *offset = layout->heap + at;
    return TERN_OK;
}

/* The place of a put or a get, waiting for the key of a region if need be. */
static tern_status transfer_find_place(tern_worker *worker, tern_ptr p, size_t bytes,
                                       uint64_t *offset) {
    tern_status status = tern_segment_check(worker->context, p, bytes, offset);
    if (status != TERN_OK || p.segment == 0 || tern_is_near(worker->context, p.rank))
        return status;
    tern_wait_state wait = TERN_WAIT_IN("a put or a get in registered memory");
    while ((status = tern_rkey_check(worker, p.rank, *offset, bytes)) == TERN_ERR_AGAIN &&
           !worker->in_handler) {
        tern_progress_round(worker);
        tern_rma_of(worker->context)->far->poll(worker);
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

/* TERN_ERR_AGAIN of a far transport: the key has been taken back meanwhile, by another worker's
 * service. Near, it is for the caller to lift. */
static tern_status transfer_put_far(tern_worker *worker, tern_ptr to, const void *from,
                                    size_t bytes, tern_request *request) {
    uint64_t offset = 0;
    bool far = false;
    tern_status status = check_local(from, bytes, "tern_put");
    if (status != TERN_OK)
        return status;
    do {
        status = transfer_find_place(worker, to, bytes, &offset);
        if (status != TERN_OK || bytes == 0)
            return status;
        status = tern_way_to(worker->context, to.rank)
                     ->put(worker, to.rank, offset, from, bytes, request);
        far = !tern_is_near(worker->context, to.rank);
    } while (status == TERN_ERR_AGAIN && far && !worker->in_handler);
    worker->stats.puts += status == TERN_OK && far;
    return status;
}

tern_status tern_put_far(tern_worker *worker, tern_ptr to, const void *from, size_t bytes) {
    return transfer_put_far(worker, to, from, bytes, NULL);
}

tern_status tern_get_far(tern_worker *worker, void *to, tern_ptr from, size_t bytes) {
    tern_request request = {{0}};
    tern_status status = tern_get_nb(worker, to, from, bytes, &request);
    return status == TERN_OK ? tern_wait(worker, &request) : status;
}

tern_status tern_put_nb(tern_worker *worker, tern_ptr to, const void *from, size_t bytes,
                        tern_request *request) {
    if (request == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_put_nb: request is NULL");
    request->state[0] = 0;
    return transfer_put_far(worker, to, from, bytes, request);
}

tern_status tern_get_nb(tern_worker *worker, void *to, tern_ptr from, size_t bytes,
                        tern_request *request) {
    if (request == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_get_nb: request is NULL");
    request->state[0] = 0;
    tern_context *context = worker->context;
    uint64_t offset = 0;
    tern_status status = transfer_find_place(worker, from, bytes, &offset);
    if (status == TERN_OK)
        status = check_local(to, bytes, "tern_get");
    if (status != TERN_OK || bytes == 0)
        return status;
    const tern_transport_ops *via = tern_way_to(context, from.rank);
    if (via == &tern_transport_shm)
        return via->get(worker, from.rank, offset, to, bytes, request);
    worker->stats.gets++;
    if (worker->in_handler)
        return tern_worker_may_wait(worker, "a get from another node");
    tern_wait_state wait = TERN_WAIT_IN("tern_get");
    while ((status = via->get(worker, from.rank, offset, to, bytes, request)) == TERN_ERR_AGAIN) {
        tern_progress_round(worker);
        via->poll(worker);
        status = tern_wait_step(context, &wait, from.rank);
        if (status != TERN_OK)
            return status;
    }
    return status;
}

static uint32_t request_rank(const tern_request *request) {
    return (uint32_t)(request->state[0] - 1);
}

/* One look at the request, without progress for anything else. */
static tern_status transfer_look(tern_worker *worker, tern_request *request, int *done) {
    *done = 1;
    if (request->state[0] == 0)
        return TERN_OK;
    tern_status status =
        tern_way_to(worker->context, request_rank(request))->test(worker, request, done);
    if (status == TERN_OK && *done)
        request->state[0] = 0;
    return status;
}

tern_status tern_test(tern_worker *worker, tern_request *request, int *done) {
    if (request == NULL || done == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_test: NULL argument");
    int complete = 0;
    tern_status status = transfer_look(worker, request, &complete);
    if (status == TERN_OK && !complete) {
        tern_progress_round(worker);
        tern_look_vainly(worker);
        status = tern_glance(worker, request_rank(request));
    }
    if (status == TERN_OK)
        *done = complete;
    return status;
}

tern_status tern_wait(tern_worker *worker, tern_request *request) {
    if (request == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_wait: request is NULL");
    if (request->state[0] == 0)
        return TERN_OK;
    tern_status status = worker->in_handler ? tern_worker_may_wait(worker, "tern_wait") : TERN_OK;
    tern_wait_state wait = TERN_WAIT_IN("tern_wait");
    const tern_transport_ops *far = tern_rma_of(worker->context)->far;
    while (status == TERN_OK) {
        int done = 0;
        status = transfer_look(worker, request, &done);
        if (status != TERN_OK || done)
            break;
        status =
            tern_wait_round(worker->context, &wait, tern_progress_round(worker) + far->poll(worker),
                            request_rank(request));
    }
    return status;
}

tern_status tern_wait_all(tern_worker *worker, tern_request *requests, size_t count) {
    tern_status status = TERN_OK;
    for (size_t i = 0; i < count && status == TERN_OK; i++)
        status = tern_wait(worker, &requests[i]);
    return status;
}

tern_status tern_flush_far(tern_worker *worker, uint32_t rank) {
    tern_context *context = worker->context;
    if (rank >= context->size && tern_is_destroyed(context))
        return tern_destroyed_fail("tern_flush");
    if (rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "rank %u of %u", rank, context->size);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    bool moving = tern_requests_moving(worker, rank);
    if (mine->dirty == NULL || (mine->dirty[rank] == 0 && moving))
        return TERN_OK;
    if (worker->in_handler || (worker->in_progress && !moving))
        return tern_worker_may_wait(worker, "tern_flush to another node");
    tern_wait_state wait = TERN_WAIT_IN("tern_flush");
    for (; !moving; moving = tern_requests_moving(worker, rank)) {
        tern_progress_round(worker);
        tern_status status = tern_wait_step(context, &wait, rank);
        if (status != TERN_OK)
            return status;
    }
    return tern_way_to(context, rank)->flush(worker, rank);
}

tern_status tern_flush_all(tern_worker *worker) {
    /* R3: tern_flush */
    atomic_thread_fence(memory_order_seq_cst);
    tern_context *context = worker->context;
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_flush_all");
    tern_status status = TERN_OK;
    if (tern_rma_of(context)->far == NULL)
        return status;
    for (uint32_t r = 0; r < context->size && status == TERN_OK; r++)
        if (!tern_is_near(context, r))
            status = tern_flush_far(worker, r);
    return status;
}

tern_status tern_puts_deliver(tern_worker *worker) {
    tern_context *context = worker->context;
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_status status = TERN_OK;
    if (mine->puts_left == 0 || worker->in_handler || worker->in_progress)
        return status;
    for (uint32_t r = 0; r < context->size && mine->puts_left > 0 && status == TERN_OK; r++) {
        if ((mine->dirty[r] & TERN_DIRTY_PUTS) != 0 && !tern_peer_is_dead(&context->peers, r))
            status = tern_flush_far(worker, r);
        if (status == TERN_ERR_PEER)
            status = TERN_OK; /* the dead need nothing; who waits for them finds out */
    }
    return status;
}

tern_status tern_fence(tern_worker *worker, uint32_t rank) {
    tern_context *context = worker->context;
    if (rank >= context->size && tern_is_destroyed(context))
        return tern_destroyed_fail("tern_fence");
    if (rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "rank %u of %u", rank, context->size);
    /* R1; with whatever the caller stores next and the target acquires */
    atomic_thread_fence(memory_order_release);
    /* Messages of a pair are served in order; only MPI's puts are not. */
    return tern_way_to(context, rank)->reads_own_batches ? tern_flush_far(worker, rank) : TERN_OK;
}

tern_status tern_barrier(tern_worker *worker) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_barrier: worker is NULL");
    TERN_COLLECTIVE(worker, "tern_barrier");
    tern_status status = tern_worker_may_wait(worker, "tern_barrier");
    /* Who has given up a barrier never arrives at another: its arrival would count twice. */
    uint32_t dead = tern_peers_dead(&worker->context->peers);
    if (status == TERN_OK && dead != TERN_NOBODY)
        status = tern_peer_fail(dead);
    if (status == TERN_OK)
        status = tern_phase_end(worker);
    if (status == TERN_OK)
        status = tern_flush_all(worker);
    if (status != TERN_OK)
        return status;
    tern_ring_publish_all(worker);
    return tern_collective_barrier(worker->context, worker);
}
