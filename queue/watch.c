#include "queue/ticket.h"
#include "queue/slot.h"

/*
 * Finds damage that ranks would wait for without end. A worker that waits for a ticket's room or
 * item waits for an operation that has drawn its own ticket. That operation ends within a round of
 * its worker, or itself waits for the room or the item of an earlier ticket; the earliest waits for
 * nobody. So these operations form a chain of at most one for each worker of the job. Whenever all
 * workers have begun some rounds, the first operation of the chain has ended. After as many such
 * passes as the chain may be long, what is still due never comes: a word of the queue says what no
 * rank has written there. The waiting worker looks for its item again between two passes.
 *
 * Each operation keeps a watch of its own, since several workers of a process may wait for
 * different tickets. An operation in a handler returns and is begun again, so the queue keeps one
 * for these: without a ticket of their own they all wait for the same one.
 */

static tern_status watch_damaged(const tern_queue *q, uint64_t head, uint64_t tail,
                                 const char *what) {
    return tern_fail(TERN_ERR_CORRUPT,
                     "the queue at rank %u, whose head is %llu and tail %llu, %s; look for what "
                     "writes into rank %u's segment",
                     q->host, (unsigned long long)head, (unsigned long long)tail, what, q->host);
}

/* Reads head and tail as they were at one moment. False: they are being changed. */
static bool read_words(tern_worker *worker, const tern_queue *q, uint64_t *head, uint64_t *tail) {
    uint64_t again = 0;
    return tern_atomic_load(worker, q->head, head) == TERN_OK &&
           tern_atomic_load(worker, q->tail, tail) == TERN_OK &&
           tern_atomic_load(worker, q->head, &again) == TERN_OK && again == *head;
}

static bool watch_is_due(const tern_queue *q, tern_queue_due due, uint64_t ticket, uint64_t head,
                         uint64_t tail) {
    if (due == TERN_DUE_ITEM)
        return (int64_t)(tail - ticket) > 0;
    return (int64_t)(ticket - head) < (int64_t)q->capacity;
}

/* Whether the ticket is that of the last look, and the chain of operations before it has ended. */
static bool is_overdue(const tern_context *context, tern_queue_watch *watch, uint64_t ticket,
                       bool now_due) {
    enum { ROUNDS = 4 };
    const uint32_t chain = context->size * context->workers + 1;
    if (watch->ticket != ticket || !now_due)
        *watch = (tern_queue_watch){.ticket = ticket};
    if (!now_due || !tern_rounds_pass(context, &watch->rounds, ROUNDS))
        return false;
    watch->rounds = (tern_rounds){0, 0, false};
    return ++watch->passes > chain;
}

/* TERN_ERR_CORRUPT; after a death TERN_ERR_PEER: what the dead left half done is no damage. */
static tern_status watch_judge(tern_context *context, const tern_queue *q, uint64_t head,
                               uint64_t tail, const char *what) {
    tern_peers_look(&context->peers);
    const uint32_t dead = tern_peers_dead(&context->peers);
    return dead != TERN_NOBODY ? tern_peer_fail(dead) : watch_damaged(q, head, tail, what);
}

/* Checks the distance of head and tail. Each worker may have drawn one ticket that waits, beyond
 * the items and free slots that are there. */
static tern_status watch_count(tern_context *context, const tern_queue *q, uint64_t head,
                               uint64_t tail) {
    const int64_t waiting = (int64_t)context->size * context->workers;
    const int64_t items = (int64_t)(tail - head);
    if (items < -waiting || items > (int64_t)q->capacity + waiting)
        return watch_judge(context, q, head, tail, "cannot have so many items");
    return TERN_OK;
}

tern_status tern_queue_refuse(tern_worker *worker, const tern_queue *q, tern_status outcome) {
    uint64_t head, tail;
    if ((outcome != TERN_ERR_FULL && outcome != TERN_ERR_EMPTY) ||
        !read_words(worker, q, &head, &tail))
        return outcome;
    const tern_status status = watch_count(worker->context, q, head, tail);
    return status == TERN_OK ? outcome : status;
}

static tern_status watch_look(tern_worker *worker, const tern_queue *q, tern_queue_watch *watch,
                              tern_queue_due due, uint64_t ticket) {
    tern_context *context = worker->context;
    uint64_t head, tail;
    if (!read_words(worker, q, &head, &tail))
        return TERN_OK;
    const tern_status status = watch_count(context, q, head, tail);
    if (status != TERN_OK)
        return status;
    if (is_overdue(context, watch, ticket, watch_is_due(q, due, ticket, head, tail)))
        return watch_judge(context, q, head, tail,
                           "has a slot or a turn that nobody is going to write");
    return TERN_OK;
}

tern_status tern_queue_look_for_damage(tern_worker *worker, tern_queue *q, tern_queue_watch *watch,
                                       tern_queue_due due, uint64_t ticket) {
    if (due == TERN_DUE_NEVER || tern_internal_reach_address(worker, q->head, 8) == NULL)
        return TERN_OK;
    if (!worker->in_handler && !worker->in_progress)
        return watch_look(worker, q, watch, due, ticket);
    /* R6: tern_queue_look_for_damage */
    if (atomic_flag_test_and_set_explicit(&q->watched, memory_order_acquire))
        return TERN_OK;
    const tern_status status = watch_look(worker, q, &q->watch[due], due, ticket);
    /* R6: tern_queue_look_for_damage */
    atomic_flag_clear_explicit(&q->watched, memory_order_release);
    return status;
}
