#include "base/error.h"
#include "rma/notify/request.h"
#include "rma/memory/state.h"
#include "rma/port/port.h"
#include "rma/ring/ring.h"
#include "rma/transfer.h"
#include "src/collective/collective.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"
#include "tern/transfer.h"

/* Flush, fence and barrier: completion at the target, and order. */

static tern_status flush_remote(tern_worker *worker, uint32_t rank, tern_flusher flusher) {
    tern_context *context = worker->context;
    if (rank >= context->size && tern_is_destroyed(context))
        return tern_destroyed_fail("tern_flush");
    if (rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "rank is %u, but there are only %u ranks", rank,
                         context->size);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    /* A flush of the transport covers only puts that have started, so queued ones start first. */
    bool moving = tern_requests_moving(worker, rank);
    if (mine->dirty == NULL || (mine->dirty[rank].what == 0 && moving))
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
    worker->stats.trips += mine->dirty[rank].what != 0;
    tern_status status = tern_transport_to(context, rank)->flush(worker, rank);
    return status == TERN_OK ? tern_port_tell(worker, rank, flusher) : status;
}

static tern_status flush_profiled(tern_worker *worker, uint32_t rank, tern_flusher flusher) {
    const tern_span span = tern_span_begin(worker, TERN_SPAN_FLUSH, TERN_NO_FUNCTION);
    /* R3: tern_flush */
    atomic_thread_fence(memory_order_seq_cst);
    const tern_status status = flush_remote(worker, rank, flusher);
    tern_span_end(worker, &span, rank, 0, status);
    return status;
}

static tern_status flush_rank(tern_worker *worker, uint32_t rank, tern_flusher flusher) {
    return __builtin_expect(worker->profile == NULL, 1) ? flush_remote(worker, rank, flusher)
                                                        : flush_profiled(worker, rank, flusher);
}

tern_status tern_puts_flush_remote(tern_worker *worker, uint32_t rank) {
    return flush_rank(worker, rank, TERN_FLUSHER_TERN);
}

tern_status tern_puts_flush_program(tern_worker *worker, uint32_t rank) {
    return flush_rank(worker, rank, TERN_FLUSHER_PROGRAM);
}

static tern_status flush_all_but(tern_worker *worker, uint32_t except, tern_flusher flusher) {
    if (tern_rma_of(worker->context)->remote == NULL)
        return TERN_OK;
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_status status = TERN_OK;
    uint32_t rank;
    while (status == TERN_OK && (rank = tern_requests_unmoved(worker)) != TERN_NOBODY)
        status = flush_rank(worker, rank, flusher);
    /* The loop goes from the end, since the last rank takes the place of one that was flushed. */
    for (uint32_t i = mine->dirty_count; i-- > 0 && status == TERN_OK;)
        if (i < mine->dirty_count && mine->dirty_ranks[i] != except)
            status = flush_rank(worker, mine->dirty_ranks[i], flusher);
    return status;
}

tern_status tern_puts_flush_all_but(tern_worker *worker, uint32_t except) {
    return flush_all_but(worker, except, TERN_FLUSHER_TERN);
}

tern_status tern_puts_flush_all(tern_worker *worker) {
    /* R3: tern_flush */
    atomic_thread_fence(memory_order_seq_cst);
    return flush_all_but(worker, TERN_NOBODY, TERN_FLUSHER_TERN);
}

tern_status tern_puts_flush_all_program(tern_worker *worker) {
    /* R3: tern_flush */
    atomic_thread_fence(memory_order_seq_cst);
    return flush_all_but(worker, TERN_NOBODY, TERN_FLUSHER_PROGRAM);
}

tern_status tern_puts_deliver(tern_worker *worker) {
    const tern_peers *peers = &worker->context->peers;
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_status status = TERN_OK;
    if (worker->in_handler || worker->in_progress || mine->puts_left == 0)
        return status;
    for (uint32_t i = mine->dirty_count; i-- > 0 && status == TERN_OK;) {
        const uint32_t rank = i < mine->dirty_count ? mine->dirty_ranks[i] : TERN_NOBODY;
        if (rank == TERN_NOBODY || (mine->dirty[rank].what & TERN_DIRTY_PUTS) == 0 ||
            tern_peer_is_dead(peers, rank) || tern_is_lost(peers, rank))
            continue;
        status = tern_puts_flush_remote(worker, rank);
        if (status == TERN_ERR_PEER || (status == TERN_ERR_MPI && tern_is_lost(peers, rank))) {
            tern_error_clear(); /* waits for this rank report its death, or the loss */
            status = TERN_OK;
        }
    }
    return status;
}

tern_status tern_fence(tern_worker *worker, uint32_t rank) {
    tern_context *context = worker->context;
    if (rank >= context->size && tern_is_destroyed(context))
        return tern_destroyed_fail("tern_fence");
    if (rank >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "rank is %u, but there are only %u ranks", rank,
                         context->size);
    /* R1; with whatever the caller stores next and the target acquires */
    atomic_thread_fence(memory_order_release);
    /* Messages of a pair are served in order; puts by MPI or a network are not, so they are
     * flushed. */
    return tern_transport_to(context, rank)->reads_own_frames ? tern_puts_flush_remote(worker, rank)
                                                              : TERN_OK;
}

tern_status tern_barrier(tern_worker *worker) {
    TERN_COLLECTIVE(worker, "tern_barrier");
    tern_status status = tern_worker_may_wait(worker, "tern_barrier");
    if (status != TERN_OK)
        return status;
    status = tern_collective_may_begin(worker->context);
    if (status != TERN_OK)
        return status;
    status = tern_phase_end(worker);
    if (status == TERN_OK)
        status = tern_puts_flush_all_program(worker);
    tern_ring_publish_all(worker);
    /* If this rank has failed, the others learn of it in the same step in which they wait for
     * it. */
    return status == TERN_OK
               ? tern_collective_barrier(worker->context, worker)
               : tern_collective_agree(worker->context, worker, status, "tern_barrier");
}
