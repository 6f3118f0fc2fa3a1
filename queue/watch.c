#include "queue/algorithm.h"
#include "queue/slot.h"

/*
 * Damage that would have others wait. Who waits for a ticket's room or item waits for operations
 * that have drawn their tickets. Each of these ends within a round of its worker, or waits for the
 * room or the item of an earlier ticket; the earliest waits for nobody. So a chain of them ends
 * within a few rounds for each worker of the job, and what is still due then never comes: a word of
 * the queue says what no rank has written there.
 */

static tern_status damaged(const tern_queue *q, uint64_t head, uint64_t tail, const char *what) {
    return tern_fail(TERN_ERR_CORRUPT,
                     "the queue at rank %u, whose head is %llu and tail %llu, %s; look for what "
                     "writes into rank %u's segment",
                     q->host, (unsigned long long)head, (unsigned long long)tail, what, q->host);
}

/* Both as they were at one time. False: they change. */
static bool read_words(tern_worker *worker, const tern_queue *q, uint64_t *head, uint64_t *tail) {
    uint64_t again = 0;
    return tern_atomic_load(worker, q->head, head) == TERN_OK &&
           tern_atomic_load(worker, q->tail, tail) == TERN_OK &&
           tern_atomic_load(worker, q->head, &again) == TERN_OK && again == *head;
}

static bool is_due(const tern_queue *q, tern_queue_due due, uint64_t ticket, uint64_t head,
                   uint64_t tail) {
    if (due == TERN_DUE_ITEM)
        return (int64_t)(tail - ticket) > 0;
    if (due == TERN_DUE_ROOM)
        return (int64_t)(ticket - head) < (int64_t)q->capacity;
    return true;
}

/* The same ticket is waited for as before, and all workers have begun enough rounds since. */
static bool is_overdue(const tern_context *context, tern_queue_watch *watch, uint64_t ticket,
                       bool now_due) {
    const uint32_t chain = context->size * context->workers + 1;
    if (watch->ticket != ticket || !now_due)
        watch->rounds = (tern_rounds){0, 0, false};
    watch->ticket = ticket;
    return now_due && tern_rounds_pass(context, &watch->rounds, 64 + 4 * chain);
}

tern_status tern_queue_look_for_damage(tern_worker *worker, tern_queue *q, tern_queue_due due,
                                       uint64_t ticket) {
    const tern_context *context = worker->context;
    const bool comes_back = worker->in_handler || worker->in_progress;
    uint64_t head, tail;
    /* R6: tern_queue_look_for_damage */
    if (due == TERN_DUE_NEVER || tern_reach_address(worker, q->head, 8) == NULL ||
        atomic_flag_test_and_set_explicit(&q->watched, memory_order_acquire))
        return TERN_OK;
    tern_status status = TERN_OK;
    if (read_words(worker, q, &head, &tail)) {
        /* Each worker may have drawn one ticket that waits. */
        const int64_t waiting = (int64_t)context->size * context->workers;
        const int64_t items = (int64_t)(tail - head);
        if (items < -waiting || items > (int64_t)q->capacity + waiting)
            status = damaged(q, head, tail, "cannot have so many items");
        else if (is_overdue(context, &q->watch[comes_back][due], ticket,
                            is_due(q, due, ticket, head, tail)))
            status = damaged(q, head, tail, "has a slot or a turn that nobody is going to write");
    }
    /* R6: tern_queue_look_for_damage */
    atomic_flag_clear_explicit(&q->watched, memory_order_release);
    return status;
}
