#include <stdlib.h>
#include <string.h>

#include "queue/ticket.h"
#include "queue/slot.h"
#include "src/broken.h"

#define STOLEN UINT64_MAX /* broken on purpose: the items of another pop */

/*
 * Pop. Linearization: an operation that draws its ticket first linearizes at the fetch-and-add of
 * head; every other one at the successful CAS of head. TERN_ERR_EMPTY linearizes at the load of
 * tail; in a phase of pops, in which tail does not change, at any time. As in push, a ticket is
 * given back only in a phase.
 */

static tern_status pop_draw(tern_worker *worker, tern_queue *q, tern_flags promise, uint64_t *slots,
                            uint64_t *ticket) {
    tern_queue_waiting wait = TERN_QUEUE_WAITING("a pop");
    tern_status status = tern_atomic_fetch_add(worker, q->head, 1, ticket);
    while (status == TERN_OK) {
        size_t count = 1;
        tern_slot_state state;
        status =
            tern_queue_look_for_items(worker, q, *ticket, promise, true, slots, &count, &state);
        if (status != TERN_OK || state == SLOT_READY)
            break;
        if (state == SLOT_NONE) {
            status = tern_atomic_fetch_add(worker, q->head, UINT64_MAX, NULL);
            return status == TERN_OK ? TERN_ERR_EMPTY : status;
        }
        status = tern_queue_wait(worker, q, &wait, TERN_QUEUE_FOREVER, TERN_DUE_ITEM, *ticket);
    }
    if (status == TERN_OK)
        tern_queue_learn(&q->head_seen, *ticket + 1);
    return status;
}

/* Reads head again, since the operation could not use the guess of head. If head is still the
 * guess, waits for one step. [out] guess: head. */
static tern_status pop_look_again(tern_worker *worker, tern_queue *q, tern_queue_waiting *wait,
                                  uint64_t until, uint64_t *guess) {
    uint64_t now;
    tern_status status = tern_atomic_load(worker, q->head, &now);
    if (status != TERN_OK)
        return status;
    if (now == *guess)
        return tern_queue_wait(worker, q, wait, until, TERN_DUE_ITEM, now);
    *guess = now;
    return TERN_OK;
}

/* Draws tickets by CAS after it has seen that their items are there. */
static tern_status pop_reserve(tern_worker *worker, tern_queue *q, tern_queue_run run,
                               uint64_t *slots, uint64_t *ticket, size_t *count) {
    tern_queue_waiting wait = TERN_QUEUE_WAITING("a pop");
    uint64_t guess = tern_queue_known(&q->head_seen), seen = 0;
    bool phase = run.promise != TERN_READ_WRITE;
    for (;;) {
        tern_slot_state state;
        *count = run.count;
        tern_status status =
            tern_queue_look_for_items(worker, q, guess, run.promise, false, slots, count, &state);
        if (status == TERN_OK && state == SLOT_NONE && (phase || run.until == TERN_QUEUE_TRY))
            return TERN_ERR_EMPTY; /* head is not less than the guess */
        if (status == TERN_OK && state != SLOT_READY)
            status = pop_look_again(worker, q, &wait, run.until, &guess);
        if (status != TERN_OK)
            return status;
        if (state != SLOT_READY)
            continue;
        status = tern_atomic_cas(worker, q->head, guess, guess + *count, &seen);
        if (status != TERN_OK)
            return status;
        const bool stolen = TERN_BROKEN(TERN_BREAK_TICKET) && seen == guess + 1;
        if (seen == guess || stolen) {
            *ticket = stolen ? STOLEN : guess;
            if (!stolen)
                tern_queue_learn(&q->head_seen, guess + *count);
            return TERN_OK;
        }
        guess = seen; /* not for tern_queue_learn: others may give tickets back, as in push */
    }
}

/* TERN_LOCAL: no other worker uses the queue, as in push. */
static tern_status pop_reserve_alone(tern_worker *worker, tern_queue *q, tern_queue_run run,
                                     uint64_t *slots, uint64_t *ticket, size_t *count) {
    uint64_t tail, head;
    tern_status status = tern_atomic_load(worker, q->head, &head);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, q->tail, &tail);
    if (status != TERN_OK)
        return status;
    if (tail == head)
        return TERN_ERR_EMPTY;
    uint64_t most = tern_slots_in_row(q, head);
    most = tail - head < most ? tail - head : most;
    *count = most < run.count ? (size_t)most : run.count;
    *ticket = head;
    status = tern_slot_get(worker, slots, tern_slot_place(q, head), tern_slots_words(q, *count));
    tern_queue_learn(&q->head_seen, head + *count);
    return status == TERN_OK ? tern_queue_set_alone(worker, q->head, head + *count) : status;
}

static tern_status pop_item(tern_worker *worker, tern_queue *q, void *items, tern_queue_run run,
                            uint64_t *slots, size_t *done) {
    uint64_t ticket = 0;
    size_t count = 1;
    tern_status status;
    if (run.promise == TERN_LOCAL)
        status = pop_reserve_alone(worker, q, run, slots, &ticket, &count);
    else if (run.until == TERN_QUEUE_FOREVER && !worker->in_handler && !worker->in_progress)
        status = pop_draw(worker, q, run.promise, slots, &ticket);
    else
        status = pop_reserve(worker, q, run, slots, &ticket, &count);
    if (status != TERN_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)items + i * q->item_bytes, tern_slot_in(q, slots, i) + TERN_SLOT_ITEM,
               q->item_bytes);
    *done = count;
    if (TERN_BROKEN(TERN_BREAK_TICKET) && ticket == STOLEN)
        return TERN_OK; /* a turn would make pushers wait for ever: only the items are wrong */
    return tern_queue_commit_pop(worker, q, ticket, count, run.promise);
}

/* Pops a large item or a batch. A batch takes as many items as are there and fit the buffer on the
 * stack. An item that does not fit the stack gets memory of the heap. */
static tern_status pop_large(tern_worker *worker, tern_queue *q, void *items, tern_queue_run run,
                             size_t *done) {
    uint64_t piece[TERN_SLOT_PIECE];
    size_t room = sizeof piece / q->stride;
    if (room > 0) {
        run.count = run.count < room ? run.count : room;
        return pop_item(worker, q, items, run, piece, done);
    }
    uint64_t *slot = malloc(q->stride);
    if (slot == NULL)
        return tern_queue_no_memory(q);
    run.count = 1;
    tern_status status = pop_item(worker, q, items, run, slot, done);
    free(slot);
    return status;
}

tern_status tern_queue_do_pop(tern_worker *worker, tern_queue *queue, void *items,
                              tern_queue_run run, size_t *done) {
    uint64_t small[TERN_SLOT_SMALL];
    if (__builtin_expect(run.count == 1 && queue->slot_words <= TERN_SLOT_SMALL, 1))
        return pop_item(worker, queue, items, run, small, done);
    return pop_large(worker, queue, items, run, done);
}
