#include "queue/queue.h"

/* Batches: reservations are repeated, each for as many items as it can take, until all items are
 * done or one reservation finds the queue full or empty. */

static tern_status queue_batch_check(const void *items, size_t count, const size_t *done,
                                     const char *name) {
    if (done == NULL || (items == NULL && count > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         done == NULL ? "the count that is returned" : "items");
    return TERN_OK;
}

/* A batch of which some items are done is a success, and leaves no detail of the last reservation.
 */
static tern_status queue_batch_end(tern_status status, size_t done, tern_status limit) {
    if (status != limit || done == 0)
        return status;
    tern_error_clear();
    return TERN_OK;
}

tern_status tern_queue_push_many(tern_worker *worker, tern_queue *queue, const void *items,
                                 size_t count, tern_flags flags, size_t *pushed) {
    static const char name[] = "tern_queue_push_many";
    tern_status status = queue_batch_check(items, count, pushed, name);
    size_t all = 0;
    while (status == TERN_OK && all < count) {
        size_t some = 0;
        tern_queue_run run = {.until = TERN_QUEUE_TRY, .count = count - all};
        const void *from = queue == NULL ? items : (const char *)items + all * queue->item_bytes;
        status = tern_queue_push_by(worker, queue, from, run, flags, &some, name);
        all += some;
    }
    if (pushed != NULL)
        *pushed = all;
    return queue_batch_end(status, all, TERN_ERR_FULL);
}

tern_status tern_queue_pop_many(tern_worker *worker, tern_queue *queue, void *items, size_t count,
                                tern_flags flags, size_t *popped) {
    static const char name[] = "tern_queue_pop_many";
    tern_status status = queue_batch_check(items, count, popped, name);
    size_t all = 0;
    while (status == TERN_OK && all < count) {
        size_t some = 0;
        tern_queue_run run = {.until = TERN_QUEUE_TRY, .count = count - all};
        void *to = queue == NULL ? items : (char *)items + all * queue->item_bytes;
        status = tern_queue_pop_by(worker, queue, to, run, flags, &some, name);
        all += some;
    }
    if (popped != NULL)
        *popped = all;
    return queue_batch_end(status, all, TERN_ERR_EMPTY);
}
