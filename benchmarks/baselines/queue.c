/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The life of a queue, its operations in phases and by call. */

#include "slots.h"

#include <stdlib.h>

#include "baselines.h"

tern_status slots_pause(tern_worker *worker, baseline_queue *q, bool in_handler) {
    if (q->unflushed && !in_handler) {
        tern_status status = tern_flush(worker, q->host);
        if (status != TERN_OK)
            return status;
        q->unflushed = false;
    }
    return baseline_pause(worker, in_handler);
}

/* ---- In phases ---- */

static tern_status queue_put_in_phase(tern_worker *worker, baseline_queue *q, uint64_t ticket,
                                      const void *item) {
    return q->kind == BASELINE_CHECKSUM
               ? checksum_put(worker, q, ticket, item)
               : tern_put(worker, slots_place(q, ticket), item, q->item_bytes);
}

/* All tickets from a limit on find no room or no item, and the limit stays where it is during a
 * phase, so a ticket can be given back. */
static tern_status queue_draw_in_phase(tern_worker *worker, const baseline_queue *q, uint64_t word,
                                       uint64_t limit, uint64_t ahead, uint64_t *known,
                                       uint64_t *ticket, tern_status refusal) {
    bool there = false;
    tern_status status = tern_atomic_fetch_add(worker, slots_word(q, word), 1, ticket);
    if (status == TERN_OK)
        status = slots_learn(worker, q, limit, *ticket, ahead, known, &there);
    if (status != TERN_OK || there)
        return status;
    status = tern_atomic_fetch_add(worker, slots_word(q, word), UINT64_MAX, NULL);
    return status == TERN_OK ? refusal : status;
}

static tern_status queue_push_in_phase(tern_worker *worker, baseline_queue *q, const void *item) {
    uint64_t ticket;
    tern_status status = queue_draw_in_phase(worker, q, TAIL_AT, HEAD_AT, q->capacity, &q->popped,
                                             &ticket, TERN_ERR_FULL);
    return status == TERN_OK ? queue_put_in_phase(worker, q, ticket, item) : status;
}

static tern_status queue_pop_in_phase(tern_worker *worker, baseline_queue *q, void *item) {
    uint64_t ticket;
    tern_status status =
        queue_draw_in_phase(worker, q, HEAD_AT, TAIL_AT, 0, &q->pushed, &ticket, TERN_ERR_EMPTY);
    if (status != TERN_OK)
        return status;
    tern_ptr place = slots_place(q, ticket);
    place.offset += q->kind == BASELINE_CHECKSUM ? CHECKED_AT : 0;
    return tern_get(worker, item, place, q->item_bytes);
}

tern_status baseline_queue_settle(tern_worker *worker, baseline_queue *queue) {
    static const uint64_t words[][2] = {{TAIL_AT, TAIL_READY_AT}, {HEAD_AT, HEAD_READY_AT}};
    tern_status status = TERN_OK;
    for (int i = 0; i < 2 && queue->rank == queue->host && status == TERN_OK; i++) {
        uint64_t drawn;
        status = tern_atomic_load(worker, slots_word(queue, words[i][0]), &drawn);
        if (status == TERN_OK)
            status = tern_atomic_store(worker, slots_word(queue, words[i][1]), drawn);
    }
    return status;
}

/* ---- By call ---- */

typedef struct queue_call {
    uint64_t queue; /* at the host */
    uint32_t promise;
    char item[BASELINE_ITEM_MAX]; /* of a push: item_bytes of it are sent */
} queue_call;

static baseline_queue *queue_of(const queue_call *c) {
    return (baseline_queue *)(uintptr_t)c->queue; /* NOLINT(performance-no-int-to-ptr) */
}

static tern_status baseline_queue_push_called(tern_call_info *call, const void *arguments,
                                              size_t bytes) {
    const queue_call *c = arguments;
    baseline_queue *q = queue_of(c);
    (void)bytes;
    if (c->promise != TERN_READ_WRITE)
        return queue_push_in_phase(call->worker, q, c->item);
    return q->kind == BASELINE_CIRCULAR ? circular_push_in_handler(call->worker, q, c->item)
                                        : checksum_push_in_handler(call->worker, q, c->item);
}
TERN_FUNCTION(baseline_queue_push_called)

static tern_status baseline_queue_pop_called(tern_call_info *call, const void *arguments,
                                             size_t bytes) {
    const queue_call *c = arguments;
    baseline_queue *q = queue_of(c);
    (void)bytes;
    call->result_bytes = q->item_bytes;
    if (c->promise != TERN_READ_WRITE)
        return queue_pop_in_phase(call->worker, q, call->result);
    return q->kind == BASELINE_CIRCULAR ? circular_pop_in_handler(call->worker, q, call->result)
                                        : checksum_pop(call->worker, q, call->result, true);
}
TERN_FUNCTION(baseline_queue_pop_called)

static tern_status queue_call_host(tern_worker *worker, baseline_queue *q,
                                   const tern_function *function, tern_flags promise,
                                   const void *pushed, void *popped) {
    queue_call c;
    c.queue = q->at_host;
    c.promise = promise;
    const size_t pushed_bytes = pushed != NULL ? q->item_bytes : 0;
    if (pushed != NULL)
        memcpy(c.item, pushed, pushed_bytes);
    /* The host may need what this rank has put. */
    if (q->unflushed) {
        tern_status status = tern_flush(worker, q->host);
        if (status != TERN_OK)
            return status;
        q->unflushed = false;
    }
    return tern_call_return(worker, (tern_worker_id){.rank = q->host}, function, &c,
                            offsetof(queue_call, item) + pushed_bytes, popped,
                            popped != NULL ? q->item_bytes : 0, NULL);
}

/* Whether to call the host. The host itself does the operation at once, with a round of progress.
 */
static bool queue_calls(tern_worker *worker, const baseline_queue *q, tern_flags flags) {
    if ((flags & TERN_BY_CALL) != 0 && q->host == q->rank)
        (void)tern_progress(worker);
    return (flags & TERN_BY_CALL) != 0 && q->host != q->rank;
}

tern_status baseline_queue_push(tern_worker *worker, baseline_queue *queue, const void *item,
                                tern_flags flags) {
    if (queue_calls(worker, queue, flags))
        return queue_call_host(worker, queue, &baseline_queue_push_called_function,
                               flags & TERN_PROMISES, item, NULL);
    if ((flags & TERN_PROMISES) != TERN_READ_WRITE)
        return queue_push_in_phase(worker, queue, item);
    return queue->kind == BASELINE_CIRCULAR ? circular_push(worker, queue, item)
                                            : checksum_push(worker, queue, item);
}

tern_status baseline_queue_pop(tern_worker *worker, baseline_queue *queue, void *item,
                               tern_flags flags) {
    if (queue_calls(worker, queue, flags))
        return queue_call_host(worker, queue, &baseline_queue_pop_called_function,
                               flags & TERN_PROMISES, NULL, item);
    if ((flags & TERN_PROMISES) != TERN_READ_WRITE)
        return queue_pop_in_phase(worker, queue, item);
    return queue->kind == BASELINE_CIRCULAR ? circular_pop(worker, queue, item)
                                            : checksum_pop(worker, queue, item, false);
}

/* ---- Life ---- */

tern_status baseline_queue_create(tern_worker *worker, MPI_Comm comm, baseline_queue_kind kind,
                                  uint32_t host, size_t item_bytes, uint64_t capacity,
                                  baseline_queue **queue) {
    tern_context *context = tern_worker_context(worker);
    if (host >= tern_context_size(context) || item_bytes == 0 || item_bytes > BASELINE_ITEM_MAX ||
        capacity == 0)
        return TERN_ERR_ARGUMENT;
    baseline_queue *q = malloc(sizeof *q);
    if (q == NULL)
        abort();
    const size_t slot_bytes = item_bytes + (kind == BASELINE_CHECKSUM ? CHECKED_AT : 0);
    *q = (baseline_queue){.kind = kind,
                          .rank = tern_context_rank(context),
                          .host = host,
                          .item_bytes = item_bytes,
                          .stride = (slot_bytes + 7) & ~(size_t)7,
                          .capacity = capacity,
                          .memory = TERN_NULL};
    struct {
        tern_ptr memory;
        uint64_t queue;
    } at_host = {TERN_NULL, (uintptr_t)q};
    const size_t bytes = SLOTS_AT + capacity * q->stride;
    if (q->rank == host &&
        tern_alloc(worker, bytes, 0, TERN_DOMAIN_GLOBAL, &at_host.memory) == TERN_OK)
        memset(tern_local(context, at_host.memory), 0, bytes);
    /* Behind the barrier nobody needs this rank's progress. */
    tern_status status = tern_barrier(worker);
    tern_mpi_lock();
    MPI_Bcast(&at_host, sizeof at_host, MPI_BYTE, (int)host, comm);
    tern_mpi_unlock();
    q->memory = at_host.memory;
    q->at_host = at_host.queue;
    if (status == TERN_OK && tern_ptr_is_null(q->memory))
        status = TERN_ERR_MEMORY;
    if (status == TERN_OK)
        *queue = q;
    else
        free(q);
    return status;
}

tern_status baseline_queue_destroy(tern_worker *worker, baseline_queue *queue) {
    tern_status status = tern_barrier(worker);
    if (status == TERN_OK && queue->rank == queue->host)
        status = tern_free(worker, queue->memory);
    free(queue);
    return status;
}
