#ifndef TERN_QUEUE_TICKET_H
#define TERN_QUEUE_TICKET_H

/*
 * Tickets. A ticket may be pushed once its slot is free, which is when its turn is posted, and may
 * be popped once the check of its slot holds. A pop posts the turn of the slot for the next
 * generation; a push leaves nothing behind but the slot.
 *
 * In a phase of pushes or pops alone, operations leave nothing behind except turns that a store
 * reaches. In a phase of pushes head tells which slots are free, since nobody pops. The end of the
 * phase settles what later phases need (queue/phase.c).
 *
 * Memory order. Slots need no order: a popper accepts a slot whose check holds. A pusher must not
 * see a turn before the slot was read. The popper's release store of the turn therefore pairs with
 * the acquire load of the pusher that then writes the slot; without shared memory, the popper's get
 * has returned before. Where a word tells the state of slots, it is changed by sequentially
 * consistent atomics after the slot was read.
 */

#include "queue/queue.h"
#include "src/progress/wait.h"

/* The wait of one operation. */
typedef struct tern_queue_waiting {
    tern_wait_state step;
    tern_queue_watch watch;
} tern_queue_waiting;

/* name: for the stuck report (src/peers/activity.h). */
#define TERN_QUEUE_WAITING(name)                                                                   \
    {                                                                                              \
        TERN_WAIT_IN(name), { 0, {0, 0, false}, 0 }                                                \
    }

/* Does one step of a wait for another rank. TERN_ERR_TIMEOUT: the time until is over.
 * TERN_ERR_AGAIN: a handler calls, and must not wait. TERN_ERR_CORRUPT: the operation that the wait
 * is for never ends, though no rank is in the middle of it. */
tern_status tern_queue_wait(tern_worker *worker, tern_queue *q, tern_queue_waiting *wait,
                            uint64_t until, tern_queue_due due, uint64_t ticket);

/* Looks once whether the ticket waits for something that is due and never comes. Several such looks
 * in a row end with TERN_ERR_CORRUPT. watch: of the operation that waits; a handler uses the
 * queue's. */
tern_status tern_queue_look_for_damage(tern_worker *worker, tern_queue *q, tern_queue_watch *watch,
                                       tern_queue_due due, uint64_t ticket);

/* The status with which a handler answers after outcome. It is TERN_ERR_CORRUPT if the queue seems
 * full or empty by a head and a tail that cannot be right: the caller would ask again for ever. */
tern_status tern_queue_refuse(tern_worker *worker, const tern_queue *q, tern_status outcome);

/* Posts what this process left undone in a phase. The barrier that ends the phase calls it, and so
 * does every wait, because a wait in the next phase may be for what this process left undone. */
tern_status tern_queue_settle(tern_worker *worker, tern_queue *q);

#endif
