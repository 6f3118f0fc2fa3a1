#include "rpc/overflow.h"

#include <stdlib.h>

#include "rma/state.h"
#include "src/error.h"
#include "src/log.h"

/* The link that leads to the target's queue, or to NULL. */
static tern_overflow **find(const tern_worker *worker, uint32_t target) {
    tern_overflow **link = &tern_rpc_worker_of(worker)->overflow;
    while (*link != NULL && (*link)->target != target)
        link = &(*link)->next;
    return link;
}

static size_t cost_of(uint64_t header) {
    return sizeof(tern_pending_call) + tern_record_bytes(header);
}

/* Calls that are sent at once must not overtake those that wait. */
static void hold_ring(tern_worker *worker, uint32_t target, bool held) {
    tern_out *out = tern_rma_worker_of(worker)->out[target];
    if (out != NULL)
        tern_ring_hold(worker, out, held);
}

static tern_overflow *open_queue(tern_worker *worker, uint32_t target) {
    tern_overflow *queue = *find(worker, target);
    if (queue != NULL)
        return queue;
    queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    queue->target = target;
    queue->next = mine->overflow;
    mine->overflow = queue;
    hold_ring(worker, target, true);
    return queue;
}

tern_status tern_overflow_push(tern_worker *worker, const tern_outgoing *outgoing, size_t bytes) {
    uint64_t header = outgoing->header | (uint64_t)bytes << 32;
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
    tern_overflow *queue = call != NULL ? open_queue(worker, outgoing->target) : NULL;
    if (queue == NULL) {
        free(call);
        return tern_fail(TERN_ERR_MEMORY, "no memory to queue a call of %zu bytes", bytes);
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

/* Moves the first call into its ring. */
static tern_status move_first(tern_worker *worker, tern_overflow *queue) {
    tern_pending_call *call = queue->first;
    size_t bytes = tern_record_bytes(call->header);
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status = tern_ring_open(worker, queue->target, &out);
    if (status == TERN_OK)
        status = tern_ring_try(worker, out, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, call->payload, bytes);
    tern_ring_commit(out, call->header);
    return TERN_OK;
}

static void drop_first(tern_worker *worker, tern_overflow *queue) {
    tern_pending_call *call = queue->first;
    queue->first = call->next;
    if (queue->first == NULL)
        queue->last = NULL;
    tern_rpc_worker_of(worker)->overflow_bytes -= cost_of(call->header);
    free(call);
}

/* Moves what has room now, to be published together. */
static size_t move(tern_worker *worker, tern_overflow *queue) {
    size_t moved = 0;
    tern_status status = TERN_OK;
    while (queue->first != NULL && (status = move_first(worker, queue)) != TERN_ERR_AGAIN) {
        if (status != TERN_OK)
            tern_log(TERN_LOG_ERROR, "a call that waited for room is lost: %s",
                     tern_error_detail());
        drop_first(worker, queue);
        moved++;
    }
    tern_out *out = tern_rma_worker_of(worker)->out[queue->target];
    if (out != NULL && out->lane.first_header != 0)
        tern_ring_publish_due(worker, out);
    hold_ring(worker, queue->target, queue->first != NULL); /* the ring may be new */
    return moved;
}

static void close_empty(tern_overflow **link) {
    tern_overflow *queue = *link;
    *link = queue->next;
    free(queue);
}

size_t tern_overflow_drain(tern_worker *worker) {
    size_t moved = 0;
    tern_overflow **link = &tern_rpc_worker_of(worker)->overflow;
    while (*link != NULL) {
        moved += move(worker, *link);
        if ((*link)->first == NULL)
            close_empty(link);
        else
            link = &(*link)->next;
    }
    return moved;
}

bool tern_overflow_clear(tern_worker *worker, uint32_t target) {
    tern_overflow **link = find(worker, target);
    if (*link == NULL)
        return true;
    (void)move(worker, *link);
    if ((*link)->first != NULL)
        return false;
    close_empty(link);
    return true;
}

void tern_overflow_discard(tern_worker *worker) {
    tern_overflow **first = &tern_rpc_worker_of(worker)->overflow;
    while (*first != NULL) {
        tern_overflow *queue = *first;
        while (queue->first != NULL)
            drop_first(worker, queue);
        *first = queue->next;
        free(queue);
    }
}
