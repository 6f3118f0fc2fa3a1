#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/collective.h"
#include "tern/call.h"
#include "tern/transfer.h"

/* What every rank tells the others; only the host's counts. */
typedef struct introduction {
    uint64_t random;
    tern_ptr memory;
    uint32_t worker;
    uint32_t unused;
} introduction;

static tern_status check_options(const tern_context *context, const tern_queue_options *o,
                                 tern_queue **queue) {
    if (o == NULL || queue == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_queue_create: %s is NULL",
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
                         "without call_only and pop by TERN_VIA_RMA",
                         o->item_bytes, TERN_RESULT_MAX);
    return TERN_OK;
}

/* Small slots get a power of two, so that none lies in two cache lines; larger ones whole lines. */
static size_t stride_of(size_t slot_bytes) {
    size_t stride = 32;
    while (stride < slot_bytes)
        stride = stride < TERN_QUEUE_LINE ? 2 * stride : stride + TERN_QUEUE_LINE;
    return stride;
}

static tern_status allocate(tern_worker *worker, const tern_queue *q, tern_ptr *memory) {
    tern_domain domain = q->call_only ? TERN_DOMAIN_OWNER : TERN_DOMAIN_GLOBAL;
    size_t bytes;
    if (__builtin_mul_overflow(q->capacity, q->stride + TERN_TURN_BYTES, &bytes) ||
        __builtin_add_overflow(bytes, 3 * TERN_QUEUE_LINE, &bytes) || bytes > INT64_MAX)
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

/* Where everything is, once the host's memory is known. */
static void lay_out(tern_queue *q, tern_ptr memory) {
    q->anchor = memory;
    q->tail = tern_ptr_add(q->anchor, TERN_QUEUE_LINE);
    q->head = tern_ptr_add(q->tail, TERN_QUEUE_LINE);
    q->slots = tern_ptr_add(q->head, TERN_QUEUE_LINE);
    q->turns = tern_ptr_add(q->slots, (int64_t)(q->capacity * q->stride));
}

/* Slots need no clearing: what is left over in them does not pass their check. */
static void clear(const tern_queue *q) {
    memset(tern_local(q->context, q->anchor), 0, 3 * TERN_QUEUE_LINE);
    memset(tern_local(q->context, q->turns), 0, q->capacity * TERN_TURN_BYTES);
}

/* Allocates the memory at the host and tells everybody. [out] memory: the host's own, to be freed
 * on an error too, unless it is null. */
static tern_status introduce(tern_worker *worker, tern_queue *q, introduction *all,
                             tern_ptr *memory) {
    tern_context *context = worker->context;
    introduction me = {0, TERN_NULL, worker->index, 0};
    tern_status status = TERN_OK;
    if (context->rank == q->host)
        status = allocate(worker, q, &me.memory);
    *memory = me.memory;
    if (status == TERN_OK &&
        getrandom(&me.random, sizeof me.random, 0) != (ssize_t)sizeof me.random)
        status = tern_fail_system("getrandom");
    status = tern_collective_agree(context, worker, status, "tern_queue_create");
    if (status == TERN_OK)
        status = tern_collective_allgather(context, worker, &me, sizeof me, all);
    if (status != TERN_OK)
        return status;
    const introduction *host = &all[q->host];
    q->nonce = host->random == 0 ? 1 : host->random;
    q->host_worker = host->worker;
    lay_out(q, host->memory);
    if (context->rank == q->host) {
        clear(q);
        *(tern_queue_anchor *)tern_local(context, q->anchor) = (tern_queue_anchor){q->nonce, q};
    }
    return TERN_OK;
}

tern_status tern_queue_create(tern_worker *worker, const tern_queue_options *options,
                              tern_queue **queue) {
    static const char name[] = "tern_queue_create";
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    status = tern_collective_agree(context, worker, check_options(context, options, queue), name);
    if (status != TERN_OK)
        return status;
    uint64_t agreed[] = {options->host, options->item_bytes, options->capacity,
                         (uint64_t)options->call_only};
    status = tern_collective_same(context, worker, agreed, sizeof agreed,
                                  "the options of tern_queue_create");
    if (status != TERN_OK)
        return status;

    tern_ptr memory = TERN_NULL;
    introduction *all = calloc(context->size, sizeof *all);
    tern_queue *q = calloc(1, sizeof *q);
    if (all == NULL || q == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "no memory for a queue over %u ranks", context->size);
    status = tern_collective_agree(context, worker, status, name);
    if (status != TERN_OK)
        goto fail;
    q->context = context;
    q->capacity = options->capacity;
    q->item_bytes = options->item_bytes;
    q->slot_words = 2 + (options->item_bytes + 7) / 8;
    q->stride = stride_of(8 * q->slot_words);
    q->host = options->host;
    q->call_only = options->call_only != 0;
    atomic_init(&q->room, q->capacity);
    status = introduce(worker, q, all, &memory);
    /* An operation may come as soon as another rank has returned: the memory is cleared before. */
    if (status == TERN_OK)
        status = tern_collective_barrier(context, worker);
    if (status != TERN_OK)
        goto fail;
    free(all);
    *queue = q;
    return TERN_OK;
fail:
    (void)tern_free(worker, memory);
    free(q);
    free(all);
    return status;
}

tern_status tern_queue_destroy(tern_worker *worker, tern_queue *queue) {
    if (queue == NULL)
        return TERN_OK;
    if (worker == NULL || worker->context != queue->context)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_queue_destroy: worker is NULL or of another context");
    tern_status status = tern_worker_may_wait(worker, "tern_queue_destroy");
    if (status != TERN_OK)
        return status;
    /* Behind the barrier everybody's puts are complete and nobody calls any more. After a death
     * there is none. */
    tern_peers *peers = &worker->context->peers;
    tern_peers_look(peers);
    uint32_t dead = tern_peers_dead(peers);
    status = dead == TERN_NOBODY ? tern_barrier(worker) : tern_peer_fail(dead);
    if (queue->host == queue->context->rank) {
        *(tern_queue_anchor *)tern_local(queue->context, queue->anchor) =
            (tern_queue_anchor){0, NULL};
        tern_status freed = tern_free(worker, queue->anchor);
        status = status == TERN_OK ? freed : status;
    }
    free(queue);
    return status;
}
