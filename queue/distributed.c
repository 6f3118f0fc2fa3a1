#include "tern/distributed_queue.h"

#include <stdlib.h>

#include "queue/queue.h"
#include "src/broken.h"

/* The parts are hosted queues that are created together. This file adds the choice of the part
 * from which an item is popped. */

struct tern_distributed_queue {
    tern_context *context;
    tern_queue *parts;       /* by rank */
    _Atomic uint64_t steals; /* number of steals, from which first_victim chooses a rank */
};

tern_status tern_distributed_queue_create(tern_worker *worker, const tern_queue_options *options,
                                          tern_distributed_queue **queue) {
    static const char name[] = "tern_distributed_queue_create";
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    tern_distributed_queue *made = calloc(1, sizeof *made);
    tern_queue_options part = {.host = 0};
    if (options != NULL)
        part = *options;
    part.host = 0;
    tern_queue *parts = NULL;
    /* An error of this rank alone reaches all ranks by the agreement on the options. */
    tern_status status =
        made != NULL ? TERN_OK
                     : tern_fail(TERN_ERR_MEMORY, "%s: no memory for a distributed queue", name);
    status = tern_queue_create_parts(worker, status, options == NULL ? NULL : &part, true, name,
                                     queue == NULL ? NULL : &parts);
    if (status != TERN_OK) {
        free(made);
        return status;
    }
    made->context = worker->context;
    made->parts = parts;
    atomic_init(&made->steals, worker->context->rank * 7919u);
    *queue = made;
    return TERN_OK;
}

tern_status tern_distributed_queue_destroy(tern_worker *worker, tern_distributed_queue *queue) {
    if (queue == NULL)
        return TERN_OK;
    static const char name[] = "tern_distributed_queue_destroy";
    tern_status status =
        worker == NULL || worker->context != queue->context
            ? tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL or of another context", name)
            : tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    status = tern_queue_destroy_parts(worker, queue->parts, queue->context->size, name);
    if (status != TERN_ERR_MISMATCH)
        free(queue);
    return status;
}

tern_status tern_distributed_queue_part(tern_distributed_queue *queue, uint32_t rank,
                                        tern_queue **part) {
    if (queue == NULL || part == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_distributed_queue_part: %s is NULL",
                         queue == NULL ? "queue" : "part");
    if (rank >= queue->context->size)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_distributed_queue_part: rank %u of %u", rank,
                         queue->context->size);
    *part = &queue->parts[rank];
    return TERN_OK;
}

/* The rank at which a steal begins: splitmix64 of the number of steals. */
static uint32_t first_victim(tern_distributed_queue *queue) {
    /* R4 */
    uint64_t x = atomic_fetch_add_explicit(&queue->steals, 1, memory_order_relaxed);
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) % queue->context->size);
}

/* Takes half of what the victim has, so that the victim keeps work too. */
static tern_status distributed_steal(tern_worker *worker, tern_queue *victim, void *items,
                                     size_t count, tern_flags flags, size_t *popped) {
    uint64_t there = 1;
    tern_status status = count > 1 ? tern_queue_size(worker, victim, &there) : TERN_OK;
    if (status != TERN_OK)
        return status;
    uint64_t half = there / 2 + there % 2;
    half = half == 0 ? 1 : half;
    return tern_queue_pop_many(worker, victim, items, half < count ? (size_t)half : count, flags,
                               popped);
}

tern_status tern_distributed_queue_pop_many(tern_worker *worker, tern_distributed_queue *queue,
                                            void *items, size_t count, tern_flags flags,
                                            size_t *popped) {
    if (queue == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_distributed_queue_pop_many: queue is NULL");
    uint32_t me = queue->context->rank, size = queue->context->size;
    tern_status status =
        tern_queue_pop_many(worker, &queue->parts[me], items, count, flags, popped);
    if (status != TERN_ERR_EMPTY || tern_flags_promise(flags) == TERN_LOCAL ||
        TERN_BROKEN(TERN_BREAK_STEAL))
        return status;
    uint32_t first = first_victim(queue);
    for (uint32_t i = 0; i < size && status == TERN_ERR_EMPTY; i++) {
        uint32_t victim = (uint32_t)(((uint64_t)first + i) % size);
        if (victim != me)
            status = distributed_steal(worker, &queue->parts[victim], items, count, flags, popped);
    }
    if (status == TERN_ERR_EMPTY)
        return tern_fail(status, "all %u parts of the distributed queue were found empty", size);
    if (status == TERN_OK)
        tern_error_clear(); /* some parts were empty */
    return status;
}

tern_status tern_distributed_queue_try_pop(tern_worker *worker, tern_distributed_queue *queue,
                                           void *item, tern_flags flags) {
    size_t popped;
    return tern_distributed_queue_pop_many(worker, queue, item, 1, flags, &popped);
}

tern_status tern_distributed_queue_size(tern_worker *worker, tern_distributed_queue *queue,
                                        uint64_t *count) {
    if (worker == NULL || queue == NULL || count == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_distributed_queue_size: %s is NULL",
                         worker == NULL  ? "worker"
                         : queue == NULL ? "queue"
                                         : "count");
    uint64_t all = 0;
    for (uint32_t r = 0; r < queue->context->size; r++) {
        uint64_t some;
        tern_status status = tern_queue_size(worker, &queue->parts[r], &some);
        if (status != TERN_OK)
            return status;
        all += some;
    }
    *count = all;
    return TERN_OK;
}
