#include "rpc/call/overflow.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/ring/frame.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/wait.h"

void tern_overflow_open(tern_worker *worker) {
    pthread_mutex_init(&tern_rpc_worker_of(worker)->overflow_lock, NULL);
}

/* Returns the link to the target's queue; the link holds NULL if there is no queue. */
static tern_overflow **overflow_find(const tern_worker *worker, uint32_t target) {
    tern_overflow **link = &tern_rpc_worker_of(worker)->overflow;
    while (*link != NULL && (*link)->out->target != target)
        link = &(*link)->next;
    return link;
}

static void overflow_acquire(const tern_worker *worker) {
    pthread_mutex_lock(&tern_rpc_worker_of(worker)->overflow_lock);
}

static void overflow_release(const tern_worker *worker) {
    pthread_mutex_unlock(&tern_rpc_worker_of(worker)->overflow_lock);
}

static size_t cost_of(uint64_t header) {
    return sizeof(tern_pending_call) + tern_record_bytes(header);
}

/* Service threads read the first link without the lock, to see whether there is anything to do. */
static void set_link(tern_overflow **link, tern_overflow *queue) {
    /* R4 */
    __atomic_store_n(link, queue, __ATOMIC_RELAXED);
}

static tern_overflow *open_queue(tern_worker *worker, uint32_t target) {
    tern_overflow *queue = *overflow_find(worker, target);
    if (queue != NULL)
        return queue;
    queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    queue->out = tern_rma_worker_of(worker)->out[target];
    queue->next = mine->overflow;
    set_link(&mine->overflow, queue);
    worker->view.unsent = 1;
    tern_ring_lend(worker, queue->out);
    return queue;
}

static void close_queue(tern_worker *worker, tern_overflow **link) {
    tern_overflow *queue = *link;
    set_link(link, queue->next);
    tern_ring_give_back(worker, queue->out);
    free(queue);
}

static tern_status overflow_push(tern_worker *worker, const tern_outgoing *outgoing,
                                 uint64_t header) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    size_t cost = cost_of(header), limit = worker->context->config.overflow_memory;
    if (!worker->in_progress)
        limit /= 2;
    if (mine->overflow_bytes > limit || cost > limit - mine->overflow_bytes)
        return tern_fail(TERN_ERR_AGAIN,
                         "calls that wait for room take %zu bytes already; let progress run, or "
                         "raise TERN_OVERFLOW_MEMORY",
                         mine->overflow_bytes);
    tern_pending_call *call = malloc(cost);
    tern_overflow *queue = call != NULL ? open_queue(worker, outgoing->to.target) : NULL;
    if (queue == NULL) {
        free(call);
        return tern_fail(TERN_ERR_MEMORY, "no memory to queue a call of %zu bytes",
                         tern_record_bytes(header));
    }
    call->next = NULL;
    call->header = header;
    tern_outgoing_write(outgoing, call->payload);
    if (queue->last != NULL)
        queue->last->next = call;
    else
        queue->first = call;
    queue->last = call;
    mine->overflow_bytes += cost;
    worker->stats.calls_overflowed++;
    tern_count(&worker->stats.calls_sent, 1);
    if (mine->overflow_bytes > worker->stats.overflow_most)
        worker->stats.overflow_most = mine->overflow_bytes;
    return TERN_OK;
}

tern_status tern_overflow_push(tern_worker *worker, const tern_outgoing *outgoing, size_t bytes) {
    overflow_acquire(worker);
    tern_status status = overflow_push(worker, outgoing, outgoing->header | (uint64_t)bytes << 32);
    overflow_release(worker);
    if (status == TERN_OK)
        tern_error_clear_again(); /* clears the text that the full ring has left */
    return status;
}

/* Moves the first call into its ring. */
static tern_status move_first(tern_worker *pending, tern_overflow *queue) {
    tern_pending_call *call = queue->first;
    size_t bytes = tern_record_bytes(call->header);
    void *room = NULL;
    tern_status status = tern_ring_opened(pending, queue->out);
    if (status == TERN_OK)
        status = tern_ring_try(pending, queue->out, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, call->payload, bytes);
    if (__builtin_expect(pending->profile != NULL, 0))
        tern_call_trace_sent(pending, queue->out, call->header);
    tern_ring_commit(queue->out, call->header);
    return TERN_OK;
}

static void drop_first(tern_rpc_worker *owner, tern_overflow *queue) {
    tern_pending_call *call = queue->first;
    queue->first = call->next;
    if (queue->first == NULL)
        queue->last = NULL;
    owner->overflow_bytes -= cost_of(call->header);
    free(call);
}

/* Gives up all calls of a queue: the target has died, or its ring can never be opened. */
static void lose_all(tern_worker *pending, tern_rpc_worker *owner, tern_overflow *queue,
                     tern_status status) {
    size_t lost = 0;
    for (; queue->first != NULL; lost++) {
        tern_call_lost(pending, queue->out->origin, queue->first, status);
        drop_first(owner, queue);
    }
    if (lost > 0)
        tern_log(TERN_LOG_ERROR, "%zu calls to worker %u that waited for room are lost: %s", lost,
                 queue->out->target, tern_error_detail());
    tern_error_clear(); /* the waits for the calls have got the status */
}

/* Moves the calls for which there is room now to the ring, and publishes them together. The thread
 * of worker pending holds the owner's lock. */
static size_t overflow_move(tern_worker *pending, tern_rpc_worker *owner, tern_overflow *queue) {
    size_t moved = 0;
    tern_status status = TERN_OK;
    while (queue->first != NULL && (status = move_first(pending, queue)) == TERN_OK) {
        drop_first(owner, queue);
        moved++;
    }
    tern_ring_publish(pending, queue->out);
    if (status == TERN_ERR_AGAIN)
        status = tern_glance(pending, tern_rank_of(pending->context, queue->out->target));
    if (status != TERN_OK)
        lose_all(pending, owner, queue, status);
    return moved;
}

size_t tern_overflow_drain(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    size_t moved = 0;
    tern_overflow **link = &mine->overflow;
    if (*link == NULL)
        return 0;
    overflow_acquire(worker);
    while (*link != NULL) {
        moved += overflow_move(worker, mine, *link);
        if ((*link)->first == NULL)
            close_queue(worker, link);
        else
            link = &(*link)->next;
    }
    overflow_release(worker);
    return moved;
}

bool tern_overflow_clear(tern_worker *worker, uint32_t target) {
    tern_overflow **link = overflow_find(worker, target);
    if (*link == NULL)
        return true;
    overflow_acquire(worker);
    (void)overflow_move(worker, tern_rpc_worker_of(worker), *link);
    bool empty = (*link)->first == NULL;
    if (empty)
        close_queue(worker, link);
    overflow_release(worker);
    return empty;
}

uint32_t tern_overflow_unsent(const tern_worker *worker, uint32_t rank) {
    const tern_overflow *queue = tern_rpc_worker_of(worker)->overflow;
    for (; queue != NULL; queue = queue->next) {
        const uint32_t theirs = tern_rank_of(worker->context, queue->out->target);
        if (rank == TERN_ANYBODY || rank == theirs)
            return theirs;
    }
    return TERN_NOBODY;
}

/* Moves calls of worker. If the worker's lock is taken nothing is done, since the worker moves its
 * calls itself. */
static size_t overflow_assist(tern_worker *service, tern_worker *worker) {
    tern_rpc_worker *theirs = tern_rpc_worker_of(worker);
    size_t moved = 0;
    /* R4 */
    if (__atomic_load_n(&theirs->overflow, __ATOMIC_RELAXED) == NULL ||
        pthread_mutex_trylock(&theirs->overflow_lock) != 0)
        return 0;
    for (tern_overflow *queue = theirs->overflow; queue != NULL; queue = queue->next) {
        moved += overflow_move(service, theirs, queue);
        tern_frame_hand_over(service, queue->out);
    }
    overflow_release(worker);
    return moved;
}

size_t tern_overflow_assist(tern_worker *service) {
    const tern_context *context = service->context;
    size_t moved = 0;
    for (size_t i = 0; i < context->config.workers; i++)
        moved += overflow_assist(service, context->worker[i]);
    return moved;
}

tern_out *tern_overflow_ring_of(const tern_worker *worker, uint32_t target) {
    const tern_overflow *queue = *overflow_find(worker, target);
    return queue != NULL ? queue->out : tern_rma_worker_of(worker)->out[target];
}

tern_out *tern_overflow_ring(tern_worker *worker, uint32_t target) {
    overflow_acquire(worker);
    return tern_overflow_ring_of(worker, target);
}

void tern_overflow_ring_done(tern_worker *worker) { overflow_release(worker); }

void tern_overflow_close(tern_worker *worker) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    while (mine->overflow != NULL) {
        while (mine->overflow->first != NULL)
            drop_first(mine, mine->overflow);
        close_queue(worker, &mine->overflow);
    }
    pthread_mutex_destroy(&mine->overflow_lock);
}
