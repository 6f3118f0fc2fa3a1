#include "queue/queue.h"

#include "tern/transfer.h"

/* The public operations: arguments are checked here, then the operation is done by RMA or by a
 * call. At the host it is done in place either way. */

static tern_status check(const tern_worker *worker, const tern_queue *queue, const void *data,
                         const char *name) {
    if (worker == NULL || queue == NULL || data == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL  ? "worker"
                         : queue == NULL ? "queue"
                                         : "item or count");
    if (worker->context != queue->context)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker and queue are of different contexts", name);
    return TERN_OK;
}

static tern_status check_how(const tern_queue *queue, tern_promise promise, tern_promise excluded,
                             tern_via via, const char *name) {
    if ((unsigned)promise > TERN_PROMISE_READ_ONLY)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: promise %d is none", name, (int)promise);
    if (promise == excluded)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: promise %s excludes the operation itself", name,
                         promise == TERN_PROMISE_READ_ONLY ? "TERN_PROMISE_READ_ONLY"
                                                           : "TERN_PROMISE_WRITE_ONLY");
    if ((unsigned)via > TERN_VIA_CALL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: via %d is none", name, (int)via);
    if (via == TERN_VIA_RMA && queue->call_only)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: the queue is call_only; pass TERN_VIA_CALL or create it without",
                         name);
    return TERN_OK;
}

/* Whether this process does the operation itself. One by call makes progress even then, as every
 * wait for a reply does: the calls of others would starve behind a loop of them. */
static bool in_place(tern_worker *worker, const tern_queue *queue, tern_via via) {
    if (via == TERN_VIA_RMA)
        return true;
    if (queue->host != queue->context->rank)
        return false;
    (void)tern_progress_round(worker);
    return true;
}

tern_status tern_queue_push(tern_worker *worker, tern_queue *queue, const void *item,
                            tern_promise promise, tern_via via) {
    tern_status status = check(worker, queue, item, "tern_queue_push");
    if (status == TERN_OK)
        status = check_how(queue, promise, TERN_PROMISE_READ_ONLY, via, "tern_queue_push");
    if (status == TERN_OK && via == TERN_VIA_CALL)
        status = tern_queue_call_check_push(queue);
    if (status != TERN_OK)
        return status;
    if (in_place(worker, queue, via))
        status = tern_queue_do_push(worker, queue, item, promise);
    else
        status = tern_queue_call_push(worker, queue, item);
    if (status == TERN_ERR_FULL)
        return tern_fail(status, "all %llu items that fit are in the queue",
                         (unsigned long long)queue->capacity);
    return status;
}

tern_status tern_queue_pop(tern_worker *worker, tern_queue *queue, void *item, tern_promise promise,
                           tern_via via) {
    tern_status status = check(worker, queue, item, "tern_queue_pop");
    if (status == TERN_OK)
        status = check_how(queue, promise, TERN_PROMISE_WRITE_ONLY, via, "tern_queue_pop");
    if (status == TERN_OK && via == TERN_VIA_CALL)
        status = tern_queue_call_check_pop(queue);
    if (status != TERN_OK)
        return status;
    if (in_place(worker, queue, via))
        status = tern_queue_do_pop(worker, queue, item, promise);
    else
        status = tern_queue_call_pop(worker, queue, item);
    if (status == TERN_ERR_EMPTY)
        return tern_fail(status, "the queue is empty");
    return status;
}

tern_status tern_queue_size(tern_worker *worker, tern_queue *queue, uint64_t *count) {
    tern_status status = check(worker, queue, count, "tern_queue_size");
    uint64_t head, tail;
    if (status == TERN_OK)
        status = tern_atomic_load(worker, queue->head, &head);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, queue->tail, &tail);
    if (status != TERN_OK)
        return status;
    /* Head was read first: tail may have run ahead of it by more than ever was in the queue. */
    *count = tail - head < queue->capacity ? tail - head : queue->capacity;
    return TERN_OK;
}
