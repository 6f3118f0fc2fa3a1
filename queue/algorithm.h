#ifndef TERN_QUEUE_ALGORITHM_H
#define TERN_QUEUE_ALGORITHM_H

/*
 * Push and pop are the same for all algorithms (tern/promise.h) except for these points:
 *
 *                free slot                  item there         left by push    left by pop
 *     IMPROVED   its turn is posted         its check holds    nothing         its turn (posted)
 *     CLASSIC    popped is within a lap     pushed is past it  CAS of pushed   CAS of popped
 *     CHECKSUM   head is within a lap       its check holds    nothing         nothing
 *
 * In a phase of pushes or pops alone, no algorithm leaves anything behind except turns that a store
 * reaches. The free slots then follow from head, since nobody pops. The end of the phase settles
 * what later phases need (queue/phase.c).
 *
 * The CAS of the classic algorithm are persistent: each advances its word from a ticket to the next
 * once all earlier tickets are done. The paper rolls back a ticket that turns out to have no free
 * slot or no item. If other tickets were drawn in between, that leaves a ticket with two owners or
 * with none. Here, as in the other algorithms, an operation that has to give an exact answer looks
 * first and then draws its ticket by CAS. A pop of the checksum algorithm also draws its ticket by
 * CAS after it has read the slot, because no pusher waits until the slot is read.
 *
 * Memory order. Slots with a check need no order: a popper accepts a slot whose check holds. A
 * pusher must not see a turn before the slot was read. The popper's release store of the turn
 * therefore pairs with the acquire load of the pusher that then writes the slot; without shared
 * memory, the popper's get has returned before. Where words tell the state of slots, they are
 * changed by sequentially consistent atomics after the slot was read, or written and fenced.
 */

#include "queue/slot.h"
#include "src/wait.h"

typedef enum {
    SLOT_READY, /* push: may be written; pop: holds the item */
    SLOT_NONE,  /* push: the queue is full; pop: it is empty */
    SLOT_BUSY,  /* push: another rank still pops from it; pop: another rank still pushes to it */
    SLOT_PAST   /* pop: the ticket has been popped already */
} tern_slot_state;

/* Asks the host whether ticket may be pushed, when this process does not know it yet. */
tern_status tern_queue_ask_for_room(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                    tern_promise promise, tern_slot_state *state);

/* Whether ticket may be pushed. SLOT_READY: q->room is now beyond it. */
static inline tern_status tern_queue_look_for_room(tern_worker *worker, tern_queue *q,
                                                   uint64_t ticket, tern_promise promise,
                                                   tern_slot_state *state) {
    *state = SLOT_READY;
    if (__builtin_expect(ticket < tern_queue_known(&q->room), 1))
        return TERN_OK;
    return tern_queue_ask_for_room(worker, q, ticket, promise, state);
}

/* Whether ticket may be popped. [in,out] count: how many tickets from ticket on are asked for; if
 * the state is SLOT_READY, how many of them may be popped, at least 1. slots: room for that many
 * slots; if tern_queue_reads_early is true, the function has read the slots into it. drawn: the
 * ticket is the caller's own; then the function does not tell SLOT_NONE from SLOT_BUSY, except in a
 * phase of pops. */
tern_status tern_queue_look_for_items(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                      tern_promise promise, bool drawn, uint64_t *slots,
                                      size_t *count, tern_slot_state *state);

static inline bool tern_queue_reads_early(const tern_queue *q) {
    return q->algorithm != TERN_ALGO_CLASSIC;
}

/* A handler must not wait once it has a ticket. In a handler this returns TERN_ERR_AGAIN if the
 * commit of ticket would wait; elsewhere it returns TERN_OK. */
tern_status tern_queue_may_draw(tern_worker *worker, tern_queue *q, tern_ptr word, uint64_t ticket,
                                tern_promise promise);

/* The commit of a classic push. */
tern_status tern_queue_commit_in_line(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                      size_t count, tern_promise promise);

/* Commits count slots from ticket on, once the push has written them or the pop has read them:
 * leaves behind what the algorithm needs. */
static inline tern_status tern_queue_commit_push(tern_worker *worker, tern_queue *q,
                                                 uint64_t ticket, size_t count,
                                                 tern_promise promise) {
    return q->algorithm == TERN_ALGO_CLASSIC
               ? tern_queue_commit_in_line(worker, q, ticket, count, promise)
               : TERN_OK;
}
tern_status tern_queue_commit_pop(tern_worker *worker, tern_queue *q, uint64_t ticket, size_t count,
                                  tern_promise promise);

/* Number of calls of tern_queue_wait by this thread. */
extern _Thread_local uint64_t tern_queue_waits;

/* The wait of one operation. */
typedef struct tern_queue_waiting {
    tern_wait_state step;
    tern_queue_watch watch;
} tern_queue_waiting;

/* name: for the stuck report (src/activity.h). */
#define TERN_QUEUE_WAITING(name)                                                                   \
    {                                                                                              \
        TERN_WAIT_IN(name), { 0, {0, 0, false}, 0 }                                                \
    }

/* Does one step of a wait for another rank. TERN_ERR_TIMEOUT: the time until is over.
 * TERN_ERR_AGAIN: a handler calls, and must not wait. TERN_ERR_CORRUPT: the operation that the wait
 * is for never ends, though no rank is in the middle of it. */
tern_status tern_queue_wait(tern_worker *worker, tern_queue *q, tern_queue_waiting *wait,
                            uint64_t until, tern_queue_due due, uint64_t ticket);

/* Whether what is due for the ticket will never come. One look; it takes several. watch: of the
 * operation that waits; a handler uses the queue's. */
tern_status tern_queue_look_for_damage(tern_worker *worker, tern_queue *q, tern_queue_watch *watch,
                                       tern_queue_due due, uint64_t ticket);

/* Posts what this process left undone in a phase. The barrier that ends the phase calls it, and so
 * does every wait, because a wait in the next phase may be for what this process left undone. */
tern_status tern_queue_settle(tern_worker *worker, tern_queue *q);

#endif
