#include "queue/queue.h"

#include "queue/op.h"
#include "src/broken.h"
#include "tern/transfer.h"

/* The public operations. They check their arguments, and then do the operation by RMA or by a call.
 * The host does both in place. */

static tern_status queue_check(const tern_worker *worker, const tern_queue *queue, const void *data,
                               const char *name) {
    if (worker == NULL || queue == NULL || data == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL  ? "worker"
                         : queue == NULL ? "queue"
                                         : "item or count");
    if (worker->context != queue->context)
        return tern_object_refuse(queue->context, name, "queue");
    return TERN_OK;
}

static tern_status queue_check_flags(const tern_queue *queue, tern_flags flags, tern_flags excluded,
                                     const char *name) {
    tern_status status = tern_flags_check(flags, excluded, name);
    if (status != TERN_OK)
        return status;
    if (tern_flags_promise(flags) == TERN_LOCAL && queue->host != queue->context->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: TERN_LOCAL is for rank %u, which holds the queue",
                         name, queue->host);
    return TERN_OK;
}

static tern_status queue_explain(tern_worker *worker, tern_status status, const tern_queue *queue,
                                 const char *name) {
    if (status == TERN_ERR_FULL || status == TERN_ERR_EMPTY)
        tern_look_vainly(worker);
    if (status == TERN_ERR_FULL)
        return tern_fail(
            status,
            "%s: all %llu items that fit are in the queue; pop some, or create it with a greater "
            "capacity",
            name, (unsigned long long)queue->capacity);
    if (status == TERN_ERR_EMPTY)
        return tern_fail(status, "%s: the queue is empty", name);
    if (status == TERN_ERR_TIMEOUT)
        return tern_fail(status, "%s: the time is over; nothing was pushed or popped", name);
    return status;
}

tern_status tern_queue_choose(tern_queue_op *op, tern_flags flags, bool may_measure,
                              const char *name, tern_pick *pick) {
    const bool pops = op->kind == TERN_PATH_POP;
    tern_status status = queue_check(op->worker, op->queue, op->items, name);
    if (status == TERN_OK)
        status = queue_check_flags(op->queue, flags, pops ? TERN_WRITE_ONLY : TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    tern_path_question question =
        tern_queue_question(op->worker, op->queue, (tern_path_kind)op->kind, flags, name);
    question.may_measure = may_measure;
    status = tern_choose(&question, pick);
    if (status == TERN_OK && pick->path == TERN_PATH_CALL)
        op->stage = TERN_QUEUE_CALL;
    return status;
}

/* Pushes or pops as many items as one reservation takes. */
static inline __attribute__((always_inline)) tern_status
queue_do(tern_queue_op *op, tern_flags flags, const char *name) {
    tern_pick pick;
    tern_status status = tern_queue_choose(op, flags, true, name, &pick);
    if (__builtin_expect(status != TERN_OK, 0))
        return status;
    tern_worker *worker = op->worker;
    const tern_queue *queue = op->queue;
    bool waited = false;
    status = tern_queue_op_run(op, &waited);
    /* The time of a wait for a free slot or an item does not show what a path costs, and that of a
     * batch depends on its size. */
    if (!waited && op->count == 1)
        tern_pick_done(worker, &pick, status);
    return __builtin_expect(status == TERN_OK, 1) ? status
                                                  : queue_explain(worker, status, queue, name);
}

/* Pushes or pops one item. */
static tern_status queue_one(tern_path_kind kind, tern_worker *worker, tern_queue *queue,
                             const void *item, uint64_t until, tern_flags flags, const char *name) {
    tern_queue_op op;
    tern_queue_op_init(&op, kind, worker, queue, item, 1, tern_flags_promise(flags), until);
    return queue_do(&op, flags, name);
}

tern_status tern_queue_push(tern_worker *worker, tern_queue *queue, const void *item,
                            tern_flags flags) {
    return queue_one(TERN_PATH_PUSH, worker, queue, item, TERN_QUEUE_FOREVER, flags, __func__);
}

tern_status tern_queue_pop(tern_worker *worker, tern_queue *queue, void *item, tern_flags flags) {
    return queue_one(TERN_PATH_POP, worker, queue, item, TERN_QUEUE_FOREVER, flags, __func__);
}

tern_status tern_queue_try_push(tern_worker *worker, tern_queue *queue, const void *item,
                                tern_flags flags) {
    return queue_one(TERN_PATH_PUSH, worker, queue, item, TERN_QUEUE_TRY, flags, __func__);
}

tern_status tern_queue_try_pop(tern_worker *worker, tern_queue *queue, void *item,
                               tern_flags flags) {
    return queue_one(TERN_PATH_POP, worker, queue, item, TERN_QUEUE_TRY, flags, __func__);
}

/* With a deadline an op draws no ticket before it knows that it can use it. So an op that gives up
 * leaves nothing behind. */

tern_status tern_queue_deadline(double seconds, uint64_t *until, const char *name) {
    if (!(seconds >= 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: seconds are %g; allowed are 0 and more", name,
                         seconds);
    /* The clock has no room for more than some centuries: a longer wait ends with the clock. */
    const uint64_t end = TERN_QUEUE_FOREVER - 1, now = tern_now();
    *until = seconds < 1e9 ? now + (uint64_t)(seconds * 1e9) : end;
    return TERN_OK;
}

tern_status tern_queue_push_timed(tern_worker *worker, tern_queue *queue, const void *item,
                                  double seconds, tern_flags flags) {
    uint64_t until = TERN_QUEUE_FOREVER;
    tern_status status = tern_queue_deadline(seconds, &until, __func__);
    return status == TERN_OK
               ? queue_one(TERN_PATH_PUSH, worker, queue, item, until, flags, __func__)
               : status;
}

tern_status tern_queue_pop_timed(tern_worker *worker, tern_queue *queue, void *item, double seconds,
                                 tern_flags flags) {
    uint64_t until = TERN_QUEUE_FOREVER;
    tern_status status = tern_queue_deadline(seconds, &until, __func__);
    if (status == TERN_OK)
        status = queue_one(TERN_PATH_POP, worker, queue, item, until, flags, __func__);
    if (TERN_BROKEN(TERN_BREAK_LATE) && status == TERN_OK && tern_now() > until)
        status = TERN_ERR_TIMEOUT;
    return status;
}

/* Repeats reservations, each for as many items as it can take, until all items are done or one
 * reservation finds the queue full or empty. A batch of which some items are done is a success, so
 * the error detail of the last reservation is cleared. */
static tern_status queue_many(tern_path_kind kind, tern_worker *worker, tern_queue *queue,
                              const void *items, size_t count, tern_flags flags, size_t *done,
                              const char *name) {
    const tern_status limit = kind == TERN_PATH_PUSH ? TERN_ERR_FULL : TERN_ERR_EMPTY;
    tern_status status = TERN_OK;
    size_t all = 0;
    if (done == NULL || (items == NULL && count > 0))
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                           done == NULL ? "the count that is returned" : "items");
    while (status == TERN_OK && all < count) {
        const void *next = queue == NULL ? items : (const char *)items + all * queue->item_bytes;
        tern_queue_op op;
        tern_queue_op_init(&op, kind, worker, queue, next, count - all, tern_flags_promise(flags),
                           TERN_QUEUE_TRY);
        status = queue_do(&op, flags, name);
        all += op.done;
    }
    if (done != NULL)
        *done = all;
    if (status != limit || all == 0)
        return status;
    tern_error_clear();
    return TERN_OK;
}

tern_status tern_queue_push_many(tern_worker *worker, tern_queue *queue, const void *items,
                                 size_t count, tern_flags flags, size_t *pushed) {
    return queue_many(TERN_PATH_PUSH, worker, queue, items, count, flags, pushed, __func__);
}

tern_status tern_queue_pop_many(tern_worker *worker, tern_queue *queue, void *items, size_t count,
                                tern_flags flags, size_t *popped) {
    return queue_many(TERN_PATH_POP, worker, queue, items, count, flags, popped, __func__);
}

tern_status tern_queue_explain(const tern_worker *worker, const tern_queue *queue, char *text,
                               size_t room, size_t *bytes) {
    static const char name[] = "tern_queue_explain";
    const tern_status status = queue_check(worker, queue, name, name);
    if (status != TERN_OK)
        return status;
    tern_worker *asks = (tern_worker *)(uintptr_t)worker; /* a question may settle replies */
    const tern_path_question questions[] = {
        tern_queue_question(asks, queue, TERN_PATH_PUSH, TERN_AUTO, "push"),
        tern_queue_question(asks, queue, TERN_PATH_POP, TERN_AUTO, "pop")};
    return tern_path_explain(questions, sizeof questions / sizeof *questions, text, room, bytes,
                             name);
}

tern_status tern_queue_size(tern_worker *worker, tern_queue *queue, uint64_t *count) {
    tern_status status = queue_check(worker, queue, count, "tern_queue_size");
    uint64_t head, tail;
    if (status == TERN_OK)
        status = tern_atomic_load(worker, queue->head, &head);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, queue->tail, &tail);
    if (status != TERN_OK)
        return status;
    /* Waiting poppers have drawn tickets beyond tail, and waiting pushers tickets beyond the
     * capacity. Head was read first, so tail may be ahead of it by more than the capacity, too. */
    uint64_t between = tail > head ? tail - head : 0;
    *count = between < queue->capacity ? between : queue->capacity;
    return TERN_OK;
}
