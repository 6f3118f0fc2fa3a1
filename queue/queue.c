#include "queue/queue.h"

#include "queue/ticket.h"
#include "tern/transfer.h"

/* The public operations. They check their arguments, and then do the operation by RMA or by a call.
 * The host does it in place either way. */

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
    if (tern_flags_way(flags) == TERN_BY_RMA && queue->call_only)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: the queue is call_only; pass TERN_BY_CALL or create it without",
                         name);
    return TERN_OK;
}

/* Whether this process does the operation itself. The host makes progress before an operation by
 * call, as a wait for a reply would. Otherwise a loop of such operations would starve the calls of
 * other ranks. */
static bool queue_in_place(tern_worker *worker, const tern_queue *queue, tern_flags via) {
    if (via == TERN_BY_RMA)
        return true;
    if (queue->host != queue->context->rank)
        return false;
    (void)tern_progress_round(worker);
    return true;
}

/* Whether the caller has to make a call again that found no free slot or no item; does a step of
 * waiting before. The host keeps no list of waiting callers, so a caller that gives up leaves
 * nothing there. */
static bool call_again(tern_worker *worker, tern_queue *queue, tern_queue_run run,
                       tern_queue_waiting *wait, tern_status *status) {
    bool limit = *status == TERN_ERR_FULL || *status == TERN_ERR_EMPTY;
    if (!limit || run.promise != TERN_READ_WRITE || run.until == TERN_QUEUE_TRY)
        return false;
    /* A round trip may take long, and tern_queue_wait looks at the peers only now and then. */
    if (wait->step.rounds % 16 == 0)
        tern_peers_look(&queue->context->peers);
    uint32_t dead = tern_peers_dead(&queue->context->peers);
    *status = dead == TERN_NOBODY
                  ? tern_queue_wait(worker, queue, wait, run.until, TERN_DUE_NEVER, 0)
                  : tern_peer_fail(dead);
    if (*status == TERN_OK)
        tern_error_clear(); /* the detail of the host's last answer */
    return *status == TERN_OK;
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

tern_status tern_queue_push_by(tern_worker *worker, tern_queue *queue, const void *items,
                               tern_queue_run run, tern_flags flags, size_t *done,
                               const char *name) {
    const tern_flags via = tern_flags_way(flags);
    run.promise = tern_flags_promise(flags);
    tern_status status = queue_check(worker, queue, items, name);
    if (status == TERN_OK)
        status = queue_check_flags(queue, flags, TERN_READ_ONLY, name);
    if (status == TERN_OK && (via == TERN_BY_CALL || queue->call_only))
        status = tern_queue_call_check_push(queue);
    if (status != TERN_OK)
        return status;
    tern_queue_waiting wait = TERN_QUEUE_WAITING(name);
    const uint64_t waits = tern_queue_waits;
    const tern_path_target target = tern_queue_target(queue);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_PUSH, &target, via, queue->only_push);
    if (queue_in_place(worker, queue, pick.via))
        status = tern_queue_do_push(worker, queue, items, run, done);
    else
        do
            status = tern_queue_call_push(worker, queue, items, run.count, run.promise, done);
        while (call_again(worker, queue, run, &wait, &status));
    /* The time of a wait for a free slot does not show what a way costs, and that of a batch
     * depends on its size. */
    if (tern_queue_waits == waits && run.count == 1)
        tern_selector_done(worker, &pick, &target, status);
    return __builtin_expect(status == TERN_OK, 1) ? status
                                                  : queue_explain(worker, status, queue, name);
}

tern_status tern_queue_pop_by(tern_worker *worker, tern_queue *queue, void *items,
                              tern_queue_run run, tern_flags flags, size_t *done,
                              const char *name) {
    const tern_flags via = tern_flags_way(flags);
    run.promise = tern_flags_promise(flags);
    tern_status status = queue_check(worker, queue, items, name);
    if (status == TERN_OK)
        status = queue_check_flags(queue, flags, TERN_WRITE_ONLY, name);
    if (status == TERN_OK && (via == TERN_BY_CALL || queue->call_only))
        status = tern_queue_call_check_pop(queue);
    if (status != TERN_OK)
        return status;
    tern_queue_waiting wait = TERN_QUEUE_WAITING(name);
    const uint64_t waits = tern_queue_waits;
    const tern_path_target target = tern_queue_target(queue);
    const tern_pick pick = tern_path_take(worker, TERN_PATH_POP, &target, via, queue->only_pop);
    if (queue_in_place(worker, queue, pick.via))
        status = tern_queue_do_pop(worker, queue, items, run, done);
    else
        do
            status = tern_queue_call_pop(worker, queue, items, run.count, run.promise, done);
        while (call_again(worker, queue, run, &wait, &status));
    /* The same for a wait for an item. */
    if (tern_queue_waits == waits && run.count == 1)
        tern_selector_done(worker, &pick, &target, status);
    return __builtin_expect(status == TERN_OK, 1) ? status
                                                  : queue_explain(worker, status, queue, name);
}

tern_status tern_queue_push(tern_worker *worker, tern_queue *queue, const void *item,
                            tern_flags flags) {
    size_t done;
    return tern_queue_push_by(worker, queue, item,
                              (tern_queue_run){.until = TERN_QUEUE_FOREVER, .count = 1}, flags,
                              &done, "tern_queue_push");
}

tern_status tern_queue_pop(tern_worker *worker, tern_queue *queue, void *item, tern_flags flags) {
    size_t done;
    return tern_queue_pop_by(worker, queue, item,
                             (tern_queue_run){.until = TERN_QUEUE_FOREVER, .count = 1}, flags,
                             &done, "tern_queue_pop");
}

tern_status tern_queue_try_push(tern_worker *worker, tern_queue *queue, const void *item,
                                tern_flags flags) {
    size_t done;
    return tern_queue_push_by(worker, queue, item,
                              (tern_queue_run){.until = TERN_QUEUE_TRY, .count = 1}, flags, &done,
                              "tern_queue_try_push");
}

tern_status tern_queue_try_pop(tern_worker *worker, tern_queue *queue, void *item,
                               tern_flags flags) {
    size_t done;
    return tern_queue_pop_by(worker, queue, item,
                             (tern_queue_run){.until = TERN_QUEUE_TRY, .count = 1}, flags, &done,
                             "tern_queue_try_pop");
}

tern_status tern_queue_explain(const tern_worker *worker, const tern_queue *queue, char *text,
                               size_t room, size_t *bytes) {
    static const char name[] = "tern_queue_explain";
    const tern_status status = queue_check(worker, queue, name, name);
    if (status != TERN_OK)
        return status;
    const tern_path_question questions[] = {{"push", TERN_PATH_PUSH, queue->only_push},
                                            {"pop", TERN_PATH_POP, queue->only_pop}};
    return tern_path_explain(worker, queue->host, questions, 2, text, room, bytes, name);
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
