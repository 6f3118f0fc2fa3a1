#include "rpc/overflow.h"

#include <stdlib.h>

#include "rma/state.h"
#include "src/error.h"
#include "src/log.h"

static tern_overflow *find(const tern_worker *worker, uint32_t target) {
    tern_overflow *queue = tern_rpc_worker_of(worker)->overflow;
    while (queue != NULL && queue->target != target)
        queue = queue->next;
    return queue;
}

bool tern_overflow_holds(const tern_worker *worker, uint32_t target) {
    return tern_rpc_worker_of(worker)->overflow != NULL && find(worker, target) != NULL;
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
    tern_overflow *queue = find(worker, target);
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

tern_status tern_overflow_push(tern_worker *worker, uint32_t target, uint64_t header,
                               const void *head, size_t head_bytes, const void *arguments,
                               size_t bytes) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    size_t cost = cost_of(header), limit = worker->context->config.overflow_memory;
    if (cost > limit - mine->overflow_bytes)
        return tern_fail(TERN_ERR_AGAIN,
                         "calls that handlers made wait in %zu bytes already; return "
                         "TERN_ERR_AGAIN, or raise TERN_OVERFLOW_MEMORY",
                         mine->overflow_bytes);
    tern_pending_call *call = malloc(cost);
    tern_overflow *queue = call != NULL ? open_queue(worker, target) : NULL;
    if (queue == NULL) {
        free(call);
        return tern_fail(TERN_ERR_MEMORY, "no memory to queue a call of %zu bytes", bytes);
    }
    call->next = NULL;
    call->header = header;
    if (head_bytes > 0)
        memcpy(call->payload, head, head_bytes);
    if (bytes > 0)
        memcpy(call->payload + head_bytes, arguments, bytes);
    if (queue->last != NULL)
        queue->last->next = call;
    else
        queue->first = call;
    queue->last = call;
    mine->overflow_bytes += cost;
    worker->stats.calls_overflowed++;
    return TERN_OK;
}

/* Moves the first call into its ring. */
static tern_status send_first(tern_worker *worker, tern_overflow *queue) {
    tern_pending_call *call = queue->first;
    size_t bytes = tern_record_bytes(call->header);
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status = tern_ring_open(worker, queue->target, &out);
    if (status == TERN_OK)
        status = tern_ring_reserve(worker, out, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, call->payload, bytes);
    tern_ring_commit(out, call->header);
    tern_ring_publish(worker, out);
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

size_t tern_overflow_drain(tern_worker *worker) {
    size_t moved = 0;
    tern_overflow **link = &tern_rpc_worker_of(worker)->overflow;
    while (*link != NULL) {
        tern_overflow *queue = *link;
        tern_status status = TERN_OK;
        while (queue->first != NULL && (status = send_first(worker, queue)) != TERN_ERR_AGAIN) {
            if (status != TERN_OK)
                tern_log(TERN_LOG_ERROR, "a call that a handler made is lost: %s",
                         tern_error_detail());
            drop_first(worker, queue);
            moved++;
        }
        if (queue->first == NULL) {
            *link = queue->next;
            hold_ring(worker, queue->target, false);
            free(queue);
        } else {
            hold_ring(worker, queue->target, true); /* the ring may be new */
            link = &queue->next;
        }
    }
    return moved;
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
