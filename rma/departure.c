#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/ring/ring.h"
#include "rma/transfer.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"
#include "tern/transfer.h"

/*
 * tern_flush and tern_flush_all first wait until all queued records and messages have left, and
 * then complete the puts (rma/flush.c). Records and messages wait at their origin for the first
 * ring of a pair, for room, or because a policy gathers them; each layer knows its own
 * (tern_layer.unsent). Only progress of their origin moves them on, so a program should flush
 * before it waits for anything outside tern.
 *
 * A handler must not wait. In a handler, a flush to a direct rank leaves queued records to the
 * progress that runs the handler. A flush to a remote rank is refused if something is queued.
 */

static uint32_t departure_find(const tern_worker *worker, uint32_t rank) {
    const tern_context *context = worker->context;
    uint32_t found = TERN_NOBODY;
    for (size_t i = 0; i < TERN_LAYER_SLOTS && found == TERN_NOBODY; i++)
        if (context->layers[i]->unsent != NULL)
            found = context->layers[i]->unsent(worker, rank);
    return found;
}

static bool departure_may_wait(const tern_worker *worker) {
    return !worker->in_handler && !worker->in_progress;
}

/* Waits until nothing is queued for rank. A flush releases what a policy or a cork holds back. */
static tern_status departure_await(tern_worker *worker, uint32_t rank) {
    tern_wait_state wait = TERN_WAIT_IN("tern_flush (for what is queued)");
    tern_status status = TERN_OK;
    tern_ring_publish_to(worker, rank);
    while (status == TERN_OK && departure_find(worker, rank) != TERN_NOBODY) {
        if (!tern_rank_is_direct(worker->context, rank))
            tern_ring_warm(worker);
        status = tern_wait_round(worker->context, &wait, tern_progress_round(worker), rank);
        tern_ring_publish_to(worker, rank);
    }
    /* Everything queued for a dead rank was given up. It has not left, so the flush fails. */
    return status == TERN_OK && tern_peer_is_dead(&worker->context->peers, rank)
               ? tern_peer_fail(rank)
               : status;
}

/* Waits for the queued records and messages to rank. TERN_ERR_STATE: called in a handler, and
 * something is queued for a remote rank. */
static tern_status departure_flush(tern_worker *worker, uint32_t rank) {
    if (tern_is_nobody(worker) || departure_find(worker, rank) == TERN_NOBODY)
        return TERN_OK;
    if (departure_may_wait(worker))
        return departure_await(worker, rank);
    return tern_rank_is_direct(worker->context, rank)
               ? TERN_OK
               : tern_worker_may_wait(worker, "tern_flush of what is queued for another node");
}

/* Clears the mark view.unsent if nothing is queued. Later records and messages set it again. */
static void departure_note(tern_worker *worker) {
    if (worker->view.unsent != 0 && departure_find(worker, TERN_ANYBODY) == TERN_NOBODY)
        worker->view.unsent = 0;
}

static tern_status flush_remote(tern_worker *worker, uint32_t rank) {
    if (rank < worker->context->size) {
        tern_status status = departure_flush(worker, rank);
        departure_note(worker);
        if (status != TERN_OK)
            return status;
    }
    return tern_puts_flush_program(worker, rank);
}

tern_status tern_internal_flush_remote(tern_worker *worker, uint32_t rank) {
    /* R3: tern_flush */
    atomic_thread_fence(memory_order_seq_cst);
    if (__builtin_expect(worker->profile == NULL, 1))
        return flush_remote(worker, rank);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_FLUSH, TERN_NO_FUNCTION);
    const tern_status status = flush_remote(worker, rank);
    tern_span_end(worker, &span, rank, 0, status);
    return status;
}

static tern_status departure_flush_all(tern_worker *worker) {
    const tern_context *context = worker->context;
    tern_status status = TERN_OK;
    uint32_t rank;
    if (tern_is_nobody(worker))
        return status;
    if (departure_may_wait(worker)) {
        tern_ring_publish_all(worker);
        while (status == TERN_OK && (rank = departure_find(worker, TERN_ANYBODY)) != TERN_NOBODY)
            status = departure_await(worker, rank);
    } else if (tern_rma_of(context)->remote != NULL &&
               departure_find(worker, TERN_ANYBODY) != TERN_NOBODY) {
        status = tern_worker_may_wait(worker, "tern_flush_all of what is queued");
    }
    departure_note(worker);
    return status;
}

tern_status tern_flush_all(tern_worker *worker) {
    if (tern_is_destroyed(worker->context))
        return tern_destroyed_fail("tern_flush_all");
    tern_status status = departure_flush_all(worker);
    return status == TERN_OK ? tern_puts_flush_all_program(worker) : status;
}
