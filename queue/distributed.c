#include "tern/distributed_queue.h"

#include <stdlib.h>
#include <string.h>

#include "queue/ending.h"
#include "queue/queue.h"
#include "src/broken.h"
#include "src/collective/collective.h"
#include "src/progress/wait.h"

/* The parts are hosted queues that are created together. This file chooses the part that an item is
 * pushed to or popped from. A pop that waits ends with an item or when no item can come any more.
 */

struct tern_distributed_queue {
    tern_context *context;
    tern_queue *parts;       /* by rank */
    _Atomic uint64_t steals; /* number of steals, from which next_victim chooses a rank */
    tern_ending ending;
};

tern_status tern_distributed_queue_create(tern_worker *worker, const tern_queue_options *options,
                                          tern_distributed_queue **queue) {
    static const char name[] = "tern_distributed_queue_create";
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    tern_distributed_queue *made = aligned_alloc(TERN_QUEUE_LINE, sizeof *made);
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
    tern_context *context = worker->context;
    memset(made, 0, sizeof *made);
    made->context = context;
    made->parts = parts;
    atomic_init(&made->steals, context->rank * 7919u);
    status = tern_collective_agree(context, worker, tern_ending_open(context, &made->ending, parts),
                                   name);
    if (status == TERN_OK) {
        *queue = made;
        return TERN_OK;
    }
    if (status == TERN_ERR_PEER) { /* other ranks may have the queue, and use its memory */
        tern_object_remove(context, &parts->object);
        return status;
    }
    tern_ignore(tern_queue_destroy_parts(worker, parts, context->size, name));
    tern_ending_close(&made->ending);
    free(made);
    return status;
}

tern_status tern_distributed_queue_destroy(tern_worker *worker, tern_distributed_queue *queue) {
    if (queue == NULL)
        return TERN_OK;
    static const char name[] = "tern_distributed_queue_destroy";
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", name);
    if (worker->context != queue->context)
        return tern_object_refuse(queue->context, name, "queue");
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    status = tern_queue_destroy_parts(worker, queue->parts, queue->context->size, name);
    if (status == TERN_ERR_MISMATCH)
        return status;
    tern_ending_close(&queue->ending);
    tern_destroyed_keep_object(queue, sizeof *queue);
    return status;
}

tern_status tern_distributed_queue_part(tern_distributed_queue *queue, uint32_t rank,
                                        tern_queue **part) {
    if (queue == NULL || part == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_distributed_queue_part: %s is NULL",
                         queue == NULL ? "queue" : "part");
    if (rank >= queue->context->size)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_distributed_queue_part: rank is %u; there are %u ranks", rank,
                         queue->context->size);
    *part = &queue->parts[rank];
    return TERN_OK;
}

/* Returns a random rank: splitmix64 of the number of steals. */
static uint32_t next_victim(tern_distributed_queue *queue) {
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

static tern_status distributed_check(const tern_worker *worker, const tern_distributed_queue *queue,
                                     const void *data, const size_t *count, const char *name) {
    if (worker == NULL || queue == NULL || data == NULL || count == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL  ? "worker"
                         : queue == NULL ? "queue"
                         : data == NULL  ? "items"
                                         : "the count that is returned");
    if (worker->context != queue->context)
        return tern_object_refuse(queue->context, name, "queue");
    return TERN_OK;
}

/* Pops from this rank's part or, if that is empty, from another one; looks at up to `others` of
 * these. */
static tern_status distributed_look(tern_worker *worker, tern_distributed_queue *queue, void *items,
                                    size_t count, tern_flags flags, uint32_t others,
                                    size_t *popped) {
    const uint32_t me = queue->context->rank, size = queue->context->size;
    tern_status status =
        tern_queue_pop_many(worker, &queue->parts[me], items, count, flags, popped);
    if (status == TERN_ERR_EMPTY && tern_flags_promise(flags) != TERN_LOCAL &&
        !TERN_BROKEN(TERN_BREAK_STEAL)) {
        const uint32_t first = next_victim(queue);
        for (uint32_t i = 0; i < others && status == TERN_ERR_EMPTY; i++) {
            const uint32_t victim = (uint32_t)(((uint64_t)first + i) % size);
            if (victim != me)
                status =
                    distributed_steal(worker, &queue->parts[victim], items, count, flags, popped);
        }
        if (status == TERN_OK)
            tern_error_clear(); /* some parts were empty */
    }
    if (status == TERN_OK)
        tern_ending_take(worker, &queue->ending, *popped);
    return status;
}

static tern_status distributed_pop(tern_worker *worker, tern_distributed_queue *queue, void *items,
                                   size_t count, tern_flags flags, size_t *popped,
                                   const char *name) {
    tern_status status = distributed_check(worker, queue, items, popped, name);
    if (status != TERN_OK)
        return status;
    const uint32_t size = queue->context->size;
    *popped = 0;
    tern_ending_finish(worker, &queue->ending);
    status = distributed_look(worker, queue, items, count, flags, size, popped);
    if (status == TERN_ERR_EMPTY && tern_flags_promise(flags) != TERN_LOCAL)
        return tern_fail(status, "%s: all %u parts of the distributed queue were found empty", name,
                         size);
    return status;
}

tern_status tern_distributed_queue_pop_many(tern_worker *worker, tern_distributed_queue *queue,
                                            void *items, size_t count, tern_flags flags,
                                            size_t *popped) {
    return distributed_pop(worker, queue, items, count, flags, popped,
                           "tern_distributed_queue_pop_many");
}

tern_status tern_distributed_queue_try_pop(tern_worker *worker, tern_distributed_queue *queue,
                                           void *item, tern_flags flags) {
    size_t popped;
    return distributed_pop(worker, queue, item, 1, flags, &popped,
                           "tern_distributed_queue_try_pop");
}

/* Each round looks at this rank's part and at one random other part. So what a wait costs other
 * ranks does not grow with their number, and every item is found sooner or later. */
static tern_status distributed_await(tern_worker *worker, tern_distributed_queue *queue,
                                     void *items, size_t count, uint64_t until, tern_flags flags,
                                     size_t *popped, const char *name) {
    tern_status status = distributed_check(worker, queue, items, popped, name);
    if (status == TERN_OK && tern_flags_promise(flags) != TERN_READ_WRITE)
        status = tern_fail(TERN_ERR_ARGUMENT,
                           "%s: flags %#x hold a promise, but there is nothing to wait for in a "
                           "phase; pass TERN_BY_RMA, TERN_BY_CALL or 0",
                           name, flags);
    if (status == TERN_OK && count == 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: count is 0", name);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = queue->context;
    tern_wait_state wait = TERN_WAIT_IN(name);
    *popped = 0;
    tern_ending_finish(worker, &queue->ending);
    for (;;) {
        if (tern_ending_has_come(worker, &queue->ending))
            return tern_fail(TERN_ERR_DONE, "%s: all work is done", name);
        status = distributed_look(worker, queue, items, count, flags, 1, popped);
        if (status != TERN_ERR_EMPTY)
            return status;
        const size_t found = tern_progress_round(worker);
        status = tern_ending_step(worker, &queue->ending);
        if (status == TERN_OK && until != TERN_QUEUE_FOREVER && tern_now() >= until)
            return tern_fail(TERN_ERR_TIMEOUT, "%s: the time is over; nothing was popped", name);
        if (status == TERN_OK)
            status = tern_wait_round(context, &wait, found, TERN_ANYBODY);
        if (status != TERN_OK)
            return status;
        tern_error_clear(); /* parts were empty */
    }
}

tern_status tern_distributed_queue_pop(tern_worker *worker, tern_distributed_queue *queue,
                                       void *item, tern_flags flags) {
    size_t popped;
    return distributed_await(worker, queue, item, 1, TERN_QUEUE_FOREVER, flags, &popped,
                             "tern_distributed_queue_pop");
}

tern_status tern_distributed_queue_pop_timed(tern_worker *worker, tern_distributed_queue *queue,
                                             void *items, size_t count, double seconds,
                                             tern_flags flags, size_t *popped) {
    static const char name[] = "tern_distributed_queue_pop_timed";
    uint64_t until;
    tern_status status = tern_queue_deadline(seconds, &until, name);
    return status == TERN_OK
               ? distributed_await(worker, queue, items, count, until, flags, popped, name)
               : status;
}

static tern_status distributed_push(tern_worker *worker, tern_distributed_queue *queue,
                                    const void *items, size_t count, tern_flags flags,
                                    size_t *pushed, const char *name) {
    tern_status status = distributed_check(worker, queue, items, pushed, name);
    if (status != TERN_OK)
        return status;
    const uint32_t me = queue->context->rank, size = queue->context->size;
    const size_t bytes = queue->parts[me].item_bytes;
    size_t all = 0;
    status = tern_queue_push_many(worker, &queue->parts[me], items, count, flags, &all);
    const uint32_t first = all < count ? next_victim(queue) : 0;
    const bool spills = tern_flags_promise(flags) != TERN_LOCAL;
    for (uint32_t i = 0; i < size && spills && all < count; i++) {
        if (status != TERN_OK && status != TERN_ERR_FULL)
            break;
        const uint32_t rank = (uint32_t)(((uint64_t)first + i) % size);
        size_t some = 0;
        if (rank == me)
            continue;
        status = tern_queue_push_many(worker, &queue->parts[rank],
                                      (const char *)items + all * bytes, count - all, flags, &some);
        all += some;
    }
    *pushed = all;
    if (status == TERN_ERR_FULL && all == 0)
        return tern_fail(status,
                         "%s: %s found full, with %llu items each; pop, or create the distributed "
                         "queue with a greater capacity",
                         name, spills ? "all parts were" : "the own part was",
                         (unsigned long long)queue->parts[me].capacity);
    if (status != TERN_OK && status != TERN_ERR_FULL)
        return status;
    tern_error_clear(); /* some parts were full */
    return TERN_OK;
}

tern_status tern_distributed_queue_push_many(tern_worker *worker, tern_distributed_queue *queue,
                                             const void *items, size_t count, tern_flags flags,
                                             size_t *pushed) {
    return distributed_push(worker, queue, items, count, flags, pushed,
                            "tern_distributed_queue_push_many");
}

tern_status tern_distributed_queue_try_push(tern_worker *worker, tern_distributed_queue *queue,
                                            const void *item, tern_flags flags) {
    size_t pushed;
    return distributed_push(worker, queue, item, 1, flags, &pushed,
                            "tern_distributed_queue_try_push");
}

static tern_status hold_check(const tern_worker *worker, const tern_distributed_queue *queue,
                              const char *name) {
    const size_t none = 0;
    return distributed_check(worker, queue, worker, &none, name);
}

tern_status tern_distributed_queue_hold(tern_worker *worker, tern_distributed_queue *queue) {
    tern_status status = hold_check(worker, queue, "tern_distributed_queue_hold");
    if (status == TERN_OK)
        tern_ending_hold(worker, &queue->ending);
    return status;
}

tern_status tern_distributed_queue_release(tern_worker *worker, tern_distributed_queue *queue) {
    tern_status status = hold_check(worker, queue, "tern_distributed_queue_release");
    if (status == TERN_OK)
        tern_ending_release(worker, &queue->ending);
    return status;
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
