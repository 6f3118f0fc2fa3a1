#include <stdlib.h>
#include <string.h>

#include "queue/ticket.h"
#include "queue/slot.h"
#include "src/broken.h"

/*
 * Push. Linearization: a push linearizes where it draws its ticket, at the fetch-and-add or the
 * successful CAS of tail. TERN_ERR_FULL linearizes at the load of head; in a phase of pushes, in
 * which head does not change, at any time. tern/queue.h and tests/contract/test_queue_cost.c have
 * the costs.
 *
 * A ticket is given back only in a phase of pushes, when it has no free slot and no pop can free
 * one. By then every ticket with a free slot is drawn for good. So tail ends at the last of these
 * tickets, in whatever order the others are given back, and no push ever owns a ticket that is
 * given back.
 */

/* Draws one ticket and waits until its slot is free. A pusher may only use free-slot information
 * that it read before it drew its ticket: that information began at an earlier ticket. Newer
 * information can describe later tickets, of another worker or of calls that run meanwhile, whose
 * slots were freed first. */
static tern_status push_draw(tern_worker *worker, tern_queue *q, tern_flags promise,
                             uint64_t *ticket) {
    bool phase = promise != TERN_READ_WRITE;
    tern_slot_state state = SLOT_READY;
    tern_queue_waiting wait = TERN_QUEUE_WAITING("a push");
    tern_status status = TERN_OK;
    if (phase)
        status =
            tern_queue_look_for_room(worker, q, tern_queue_known(&q->tail_seen), promise, &state);
    if (status != TERN_OK || state != SLOT_READY)
        return status == TERN_OK ? TERN_ERR_FULL : status;
    const uint64_t room = tern_queue_known(&q->room);
    status = tern_atomic_fetch_add(worker, q->tail, 1, ticket);
    while (status == TERN_OK && *ticket >= room) {
        status = tern_queue_ask_for_room(worker, q, *ticket, promise, &state);
        if (status != TERN_OK || state == SLOT_READY)
            break;
        if (phase) {
            status = tern_atomic_fetch_add(worker, q->tail, UINT64_MAX, NULL);
            return status == TERN_OK ? TERN_ERR_FULL : status;
        }
        status = tern_queue_wait(worker, q, &wait, TERN_QUEUE_FOREVER, TERN_DUE_ROOM, *ticket);
    }
    if (status == TERN_OK)
        tern_queue_learn(&q->tail_seen, *ticket + 1);
    return status;
}

/* Free slots are known up to this ticket. The caller has seen free slots up to least, but
 * tern_queue_learn may have lost that. */
static uint64_t known_room(tern_queue *q, uint64_t least) {
    uint64_t room = tern_queue_known(&q->room);
    return room > least ? room : least;
}

/* [out] state: whether ticket has a free slot; [out] count: if so, how many tickets from ticket on
 * have one, at most run.count. */
static tern_status measure_room(tern_worker *worker, tern_queue *q, uint64_t ticket,
                                tern_queue_run run, size_t *count, tern_slot_state *state) {
    tern_status status = tern_queue_look_for_room(worker, q, ticket, run.promise, state);
    uint64_t room = known_room(q, ticket + 1);
    while (status == TERN_OK && *state == SLOT_READY && room - ticket < run.count) {
        tern_slot_state more;
        status = tern_queue_look_for_room(worker, q, room, run.promise, &more);
        if (status != TERN_OK || more != SLOT_READY)
            break;
        room = known_room(q, room + 1);
    }
    if (*state == SLOT_READY)
        *count = room - ticket < run.count ? (size_t)(room - ticket) : run.count;
    return status;
}

/* Draws tickets by CAS after it has seen that their slots are free. */
static tern_status push_reserve(tern_worker *worker, tern_queue *q, tern_queue_run run,
                                uint64_t *ticket, size_t *count) {
    tern_queue_waiting wait = TERN_QUEUE_WAITING("a push");
    uint64_t guess = tern_queue_known(&q->tail_seen), seen = 0;
    bool phase = run.promise != TERN_READ_WRITE;
    for (;;) {
        tern_slot_state state;
        tern_status status = measure_room(worker, q, guess, run, count, &state);
        if (status == TERN_OK && state == SLOT_NONE && (phase || run.until == TERN_QUEUE_TRY))
            return TERN_ERR_FULL; /* tail is not less than the guess */
        if (status == TERN_OK && state != SLOT_READY)
            status = tern_queue_wait(worker, q, &wait, run.until, TERN_DUE_ROOM, guess);
        if (status != TERN_OK)
            return status;
        if (state != SLOT_READY)
            continue;
        status = tern_atomic_cas(worker, q->tail, guess, guess + *count, &seen);
        if (status != TERN_OK)
            return status;
        if (seen == guess) {
            tern_queue_learn(&q->tail_seen, guess + *count);
            *ticket = guess;
            return TERN_OK;
        }
        guess = seen; /* not for tern_queue_learn: in a phase, others may give tickets back */
    }
}

/* TERN_LOCAL: no other worker uses the queue, so no ticket needs an atomic
 * read-modify-write. The store is atomic, since other workers read the word later. */
static tern_status push_reserve_alone(tern_worker *worker, tern_queue *q, tern_queue_run run,
                                      uint64_t *ticket, size_t *count) {
    uint64_t tail, head;
    tern_status status = tern_atomic_load(worker, q->tail, &tail);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, q->head, &head);
    if (status != TERN_OK)
        return status;
    uint64_t room = q->capacity - (tail - head);
    if (room == 0)
        return TERN_ERR_FULL;
    *count = room < run.count ? (size_t)room : run.count;
    *ticket = tail;
    tern_queue_learn(&q->tail_seen, tail + *count);
    return tern_queue_set_alone(worker, q->tail, tail + *count);
}

static void push_fill(const tern_queue *q, uint64_t *slot, uint64_t ticket, const void *item) {
    slot[q->slot_words - 1] = 0;
    slot[TERN_SLOT_TICKET] = ticket;
    memcpy(slot + TERN_SLOT_ITEM, item, q->item_bytes);
    slot[TERN_SLOT_CHECK] = tern_slot_check_of(q, slot);
}

/* Puts the items into the slots of their tickets. A popper that looks before they have arrived
 * waits for them. */
static tern_status write_items(tern_worker *worker, const tern_queue *q, uint64_t *slots,
                               size_t room, uint64_t ticket, const char *items, size_t count) {
    tern_status status = TERN_OK;
    while (count > 0 && status == TERN_OK) {
        uint64_t row = tern_slots_in_row(q, ticket);
        size_t some = count < room ? count : room;
        some = some < row ? some : (size_t)row;
        for (size_t i = 0; i < some; i++, items += q->item_bytes) {
            size_t at = TERN_BROKEN(TERN_BREAK_ORDER) ? some - 1 - i : i;
            uint64_t *slot = tern_slot_in(q, slots, at);
            push_fill(q, slot, ticket + at, items);
            if (room > 1)
                memset(slot + q->slot_words, 0, q->stride - 8 * q->slot_words);
        }
        status =
            tern_slot_put(worker, tern_slot_place(q, ticket), slots, tern_slots_words(q, some));
        ticket += some;
        count -= some;
    }
    return status;
}

static tern_status push_item(tern_worker *worker, tern_queue *q, const void *items,
                             tern_queue_run run, uint64_t *slots, size_t room, size_t *done) {
    uint64_t ticket = 0;
    size_t count = 1;
    tern_status status;
    if (run.promise == TERN_LOCAL)
        status = push_reserve_alone(worker, q, run, &ticket, &count);
    else if (run.until == TERN_QUEUE_FOREVER && !worker->in_handler && !worker->in_progress)
        status = push_draw(worker, q, run.promise, &ticket);
    else
        status = push_reserve(worker, q, run, &ticket, &count);
    if (status == TERN_OK)
        status = write_items(worker, q, slots, room, ticket, items, count);
    if (status == TERN_OK)
        *done = count;
    return status;
}

/* Pushes a large item or a batch. A batch is put in pieces that fit the buffer on the stack. An
 * item that does not fit the stack gets memory of the heap. */
static tern_status push_large(tern_worker *worker, tern_queue *q, const void *items,
                              tern_queue_run run, size_t *done) {
    uint64_t piece[TERN_SLOT_PIECE];
    size_t room = sizeof piece / q->stride;
    if (room > 0)
        return push_item(worker, q, items, run, piece, room, done);
    uint64_t *slot = malloc(q->stride);
    if (slot == NULL)
        return tern_queue_no_memory(q);
    tern_status status = push_item(worker, q, items, run, slot, 1, done);
    free(slot);
    return status;
}

tern_status tern_queue_do_push(tern_worker *worker, tern_queue *queue, const void *items,
                               tern_queue_run run, size_t *done) {
    uint64_t small[TERN_SLOT_SMALL];
    if (__builtin_expect(run.count == 1 && queue->slot_words <= TERN_SLOT_SMALL, 1))
        return push_item(worker, queue, items, run, small, 1, done);
    return push_large(worker, queue, items, run, done);
}
