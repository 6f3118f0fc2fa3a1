#include "queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "queue/pool.h"
#include "src/collective/collective.h"
#include "tern/call.h"
#include "tern/transfer.h"

enum { WORDS = 4 * TERN_QUEUE_LINE }; /* scratch, tail, head, popped */

/* What every rank sends to the others, which use only what a host has sent. */
typedef struct queue_introduction {
    uint64_t random;
    tern_ptr memory;
    uint32_t worker;
    uint32_t unused;
} queue_introduction;

static tern_status queue_check_options(const tern_context *context, const tern_queue_options *o,
                                       const void *queue, const char *name) {
    if (o == NULL || queue == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         o == NULL ? "options" : "queue");
    if (o->host >= context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "host is %u; there are %u ranks", o->host,
                         context->size);
    if (o->item_bytes < 1 || o->item_bytes > TERN_ITEM_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "item_bytes is %zu; allowed are 1 to %d", o->item_bytes,
                         TERN_ITEM_MAX);
    if (o->capacity == 0)
        return tern_fail(TERN_ERR_ARGUMENT, "capacity is 0; a queue holds at least one item");
    if (o->call_only != 0 && o->call_only != 1)
        return tern_fail(TERN_ERR_ARGUMENT, "call_only is %d; allowed are 0 and 1", o->call_only);
    if (o->call_only == 1 && o->item_bytes > TERN_RESULT_MAX)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "item_bytes is %zu and a call returns at most %u bytes; create the queue "
                         "without call_only and pop by TERN_BY_RMA",
                         o->item_bytes, TERN_RESULT_MAX);
    return TERN_OK;
}

/* A small slot takes a power of two in bytes, so that no slot lies in two cache lines; a larger one
 * takes whole lines. */
static size_t stride_of(size_t slot_bytes) {
    size_t stride = 32;
    while (stride < slot_bytes)
        stride = stride < TERN_QUEUE_LINE ? 2 * stride : stride + TERN_QUEUE_LINE;
    return stride;
}

static tern_status queue_allocate(tern_worker *worker, const tern_queue *q, tern_ptr *memory) {
    tern_domain domain = q->call_only ? TERN_DOMAIN_OWNER : TERN_DOMAIN_GLOBAL;
    size_t bytes;
    if (__builtin_mul_overflow(q->capacity, q->stride + TERN_TURN_BYTES, &bytes) ||
        __builtin_add_overflow(bytes, WORDS, &bytes) || bytes > INT64_MAX)
        bytes = INT64_MAX;
    tern_status status = tern_alloc(worker, bytes, 0, domain, memory);
    if (status == TERN_ERR_MEMORY)
        return tern_fail(status,
                         "the queue takes %zu bytes (%.1f MiB) in the segment of rank %u; raise "
                         "TERN_SEGMENT_SIZE (now %zu)",
                         bytes, (double)bytes / (1 << 20), q->host,
                         q->context->config.segment_size);
    return status;
}

/* Sets the addresses of all parts of the queue's memory. */
static void queue_lay_out(tern_queue *q, tern_ptr memory) {
    q->scratch = memory;
    q->tail = tern_ptr_add(q->scratch, TERN_QUEUE_LINE);
    q->head = tern_ptr_add(q->tail, TERN_QUEUE_LINE);
    q->popped = tern_ptr_add(q->head, TERN_QUEUE_LINE);
    q->slots = tern_ptr_add(q->popped, TERN_QUEUE_LINE);
    q->turns = tern_ptr_add(q->slots, (int64_t)(q->capacity * q->stride));
}

/* Slots need no clearing: the check of a slot with left-over content does not hold. */
static void queue_clear(const tern_queue *q) {
    memset(tern_local(q->context, q->scratch), 0, WORDS);
    memset(tern_local(q->context, q->turns), 0, q->capacity * TERN_TURN_BYTES);
}

/* Takes over what the host has sent. The nonce of a queue that exists is never 0. */
static void meet_host(tern_worker *worker, tern_queue *q, const queue_introduction *host) {
    q->nonce = host->random == 0 ? 1 : host->random;
    q->host_worker = host->worker;
    queue_lay_out(q, host->memory);
    q->reached = tern_internal_reach_address(worker, q->head, 8) != NULL;
    if (q->host != q->context->rank)
        return;
    queue_clear(q);
    tern_callee_add(q->context, &q->callee, TERN_CALLEE_QUEUE, q->nonce, q);
}

/* Allocates the memory at the hosts and sends its global address to all ranks. [out] memory: this
 * rank's own, or null; the caller frees it on an error. */
static tern_status queue_introduce(tern_worker *worker, tern_queue *parts, size_t count,
                                   queue_introduction *all, tern_ptr *memory, const char *name) {
    tern_context *context = worker->context;
    queue_introduction me = {0, TERN_NULL, worker->index, 0};
    tern_status status = TERN_OK;
    if (context->rank - parts->host < count)
        status = queue_allocate(worker, &parts[context->rank - parts->host], &me.memory);
    *memory = me.memory;
    if (status == TERN_OK &&
        getrandom(&me.random, sizeof me.random, 0) != (ssize_t)sizeof me.random)
        status = tern_fail_system("getrandom");
    status = tern_collective_agree(context, worker, status, name);
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, &me, sizeof me, all);
    for (size_t i = 0; i < count && status == TERN_OK; i++)
        meet_host(worker, &parts[i], &all[parts[i].host]);
    return status;
}

static tern_queue queue_part_of(tern_context *context, const tern_queue_options *options,
                                uint32_t host, bool is_part) {
    tern_queue q = {
        .context = context, .capacity = options->capacity, .host = host, .is_part = is_part};
    q.mask = (q.capacity & (q.capacity - 1)) == 0 ? q.capacity - 1 : 0;
    q.shift = (unsigned)__builtin_ctzll(q.capacity);
    q.item_bytes = options->item_bytes;
    q.slot_words = TERN_SLOT_ITEM + (options->item_bytes + 7) / 8;
    q.stride = stride_of(8 * q.slot_words);
    q.call_only = options->call_only != 0;
    atomic_init(&q.room, q.capacity);
    return q;
}

static tern_status queue_agree(tern_worker *worker, tern_status status, const tern_queue_options *o,
                               const void *out, const char *name) {
    tern_context *context = worker->context;
    if (status == TERN_OK)
        status = queue_check_options(context, o, out, name);
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        return status;
    const tern_field agreed[] = {{"host", o->host},
                                 {"item_bytes", o->item_bytes},
                                 {"capacity", o->capacity},
                                 {"call_only", (uint64_t)o->call_only}};
    return tern_collective_same_fields(context, worker, agreed, sizeof agreed / sizeof *agreed,
                                       name);
}

tern_status tern_queue_create_parts(tern_worker *worker, tern_status before,
                                    const tern_queue_options *options, bool everywhere,
                                    const char *name, tern_queue **parts) {
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status == TERN_OK)
        status = queue_agree(worker, before, options, parts, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    tern_ptr memory = TERN_NULL;
    size_t count = everywhere ? context->size : 1, initialized = 0;
    queue_introduction *all = calloc(context->size, sizeof *all);
    tern_queue *made = aligned_alloc(_Alignof(tern_queue), count * sizeof *made);
    if (all == NULL || made == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a queue over %u ranks", context->size);
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        goto fail;
    for (size_t i = 0; i < count; i++, initialized++)
        made[i] =
            queue_part_of(context, options, everywhere ? (uint32_t)i : options->host, everywhere);
    status = queue_introduce(worker, made, count, all, &memory, name);
    if (status != TERN_OK)
        goto fail;
    /* Other ranks may begin an operation as soon as they have returned, so all memory is cleared
     * before the barrier. If a death ends the barrier, other ranks may have returned; a host then
     * leaves its memory to them. */
    status = tern_collective_barrier(context, worker);
    if (status != TERN_OK && (status != TERN_ERR_PEER || tern_ptr_is_null(memory)))
        goto fail;
    free(all);
    if (status != TERN_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        tern_queue_join_phases(&made[i]);
    tern_object_add(context, &made[0].object, everywhere ? "distributed queue" : "queue");
    *parts = made;
    return TERN_OK;
fail:
    /* A call of a rank whose barrier succeeded may name one of these queues. */
    for (size_t i = 0; i < initialized; i++)
        tern_callee_remove(context, &made[i].callee);
    tern_ignore(tern_free(worker, memory));
    free(made);
    free(all);
    return status;
}

tern_status tern_queue_destroy_parts(tern_worker *worker, tern_queue *parts, size_t count,
                                     const char *name) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    if (worker->context != parts->context)
        return tern_object_refuse(parts->context, name, "queue");
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    for (size_t i = 0; i < count && status == TERN_OK; i++)
        status = tern_queue_pools_drain(worker, &parts[i], name);
    if (status != TERN_OK)
        return status;
    /* After the barrier the puts of all ranks are complete and no rank calls any more. After a
     * death the barrier fails, and the queue is destroyed without it. */
    tern_peers_look(&worker->context->peers);
    status = tern_barrier(worker);
    if (status == TERN_ERR_MISMATCH)
        return status; /* the other ranks have not called destroy */
    tern_object_remove(parts->context, &parts->object);
    for (size_t i = 0; i < count; i++) {
        tern_queue *q = &parts[i];
        tern_queue_leave_phases(q);
        tern_queue_pools_free(q);
        if (q->host != q->context->rank)
            continue;
        tern_callee_remove(q->context, &q->callee);
        tern_status freed = tern_free(worker, q->scratch);
        status = status == TERN_OK ? freed : status;
    }
    tern_destroyed_keep_object(parts, count * sizeof *parts);
    return status;
}

tern_status tern_queue_create(tern_worker *worker, const tern_queue_options *options,
                              tern_queue **queue) {
    return tern_queue_create_parts(worker, TERN_OK, options, false, "tern_queue_create", queue);
}

tern_status tern_queue_destroy(tern_worker *worker, tern_queue *queue) {
    if (queue == NULL)
        return TERN_OK;
    if (queue->is_part)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_queue_destroy: the queue is a part; "
                                            "destroy the distributed queue");
    return tern_queue_destroy_parts(worker, queue, 1, "tern_queue_destroy");
}
