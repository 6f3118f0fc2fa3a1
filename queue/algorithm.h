#ifndef TERN_QUEUE_ALGORITHM_H
#define TERN_QUEUE_ALGORITHM_H

/*
 * What the algorithms differ in (tern/promise.h), for one skeleton of push and pop:
 *
 *                free slot                  item there         left by push    left by pop
 *     IMPROVED   its turn is posted         its check holds    nothing         its turn (posted)
 *     CLASSIC    popped is near             pushed is past it  CAS of pushed   CAS of popped
 *     CHECKSUM   head is near               its check holds    nothing         nothing
 *
 * In a phase of pushes or pops alone, all leave nothing but turns within reach of a store, and head
 * tells what is free, since nobody pops; what later phases need is settled when this one ends
 * (queue/phase.c).
 *
 * The classic CAS are persistent: from the ticket to the next, once all before it are done. The
 * paper rolls a ticket back that turns out to have no room or no item, which with others between
 * leaves two owners of one ticket or none; here, as in the other algorithms, a ticket is drawn by
 * CAS after looking where the answer is to be exact. Checksum pops draw theirs by CAS after
 * reading the slot, since nobody waits for it to be read.
 *
 * Memory order. Slots with a check need none: a popper believes what passes. A turn must not be
 * seen before the slot was read: the popper's release store of the turn pairs with the acquire load
 * of the pusher that then writes the slot (far, the popper's get has returned). Where words tell of
 * slots, they are sequentially consistent atomics after the slot was read, or written and fenced.
 */

#include "queue/slot.h"
#include "src/wait.h"

typedef enum {
    SLOT_READY, /* may be written; holds the item */
    SLOT_NONE,  /* the queue is full; empty */
    SLOT_BUSY,  /* another rank is still popping from it; pushing to it */
    SLOT_PAST   /* the ticket is gone */
} tern_slot_state;

/* Whether ticket may be pushed, where that is not known yet. */
tern_status tern_queue_ask_for_room(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                    tern_promise promise, tern_slot_state *state);

/* Whether ticket may be pushed. READY: q->room is beyond it. */
static inline tern_status tern_queue_look_for_room(tern_worker *worker, tern_queue *q,
                                                   uint64_t ticket, tern_promise promise,
                                                   tern_slot_state *state) {
    *state = SLOT_READY;
    if (__builtin_expect(ticket < tern_queue_known(&q->room), 1))
        return TERN_OK;
    return tern_queue_ask_for_room(worker, q, ticket, promise, state);
}

/* Whether ticket may be popped, and of *count that follow each other from it how many: if READY, 1
 * or more. slots: room for them; they are in it already where tern_queue_reads_early. drawn: the
 * ticket is the caller's, so that "empty" cannot be told from "busy" and is not asked for, but in a
 * phase of pops. */
tern_status tern_queue_look_for_items(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                      tern_promise promise, bool drawn, uint64_t *slots,
                                      size_t *count, tern_slot_state *state);

static inline bool tern_queue_reads_early(const tern_queue *q) {
    return q->algorithm != TERN_ALGO_CLASSIC;
}

/* In a handler, which must not wait once it has a ticket: whether commit would. */
tern_status tern_queue_may_draw(tern_worker *worker, tern_queue *q, tern_ptr word, uint64_t ticket,
                                tern_promise promise);

/* What the classic push leaves. */
tern_status tern_queue_commit_in_line(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                      size_t count, tern_promise promise);

/* What push and pop leave, once count slots from ticket on are written or read. */
static inline tern_status tern_queue_commit_push(tern_worker *worker, tern_queue *q,
                                                 uint64_t ticket, size_t count,
                                                 tern_promise promise) {
    return q->algorithm == TERN_ALGO_CLASSIC
               ? tern_queue_commit_in_line(worker, q, ticket, count, promise)
               : TERN_OK;
}
tern_status tern_queue_commit_pop(tern_worker *worker, tern_queue *q, uint64_t ticket, size_t count,
                                  tern_promise promise);

/* Steps of waiting that this thread has taken. */
extern _Thread_local uint64_t tern_queue_waits;

/* One step of a wait for another rank. TERN_ERR_TIMEOUT behind until; in handlers, TERN_ERR_AGAIN
 * at once. TERN_ERR_CORRUPT: what is due does not come, though no rank is in the middle of it. */
tern_status tern_queue_wait(tern_worker *worker, tern_queue *q, tern_wait_state *wait,
                            uint64_t until, tern_queue_due due, uint64_t ticket);

/* Whether what is due for the ticket will never come. One look; it takes several. */
tern_status tern_queue_look_for_damage(tern_worker *worker, tern_queue *q, tern_queue_due due,
                                       uint64_t ticket);

/* Posts what this process left undone in a phase that is over, or that nobody else can tell from
 * one: by the barrier, and before waiting in another phase. */
tern_status tern_queue_settle(tern_worker *worker, tern_queue *q);

#endif
