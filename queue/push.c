#include <stdlib.h>
#include <string.h>

#include "queue/algorithm.h"
#include "queue/slot.h"
#include "src/broken.h"

/*
 * Push. Linearization: where a ticket is drawn, at the fetch-and-add or the successful CAS of tail;
 * TERN_ERR_FULL at the load of head (in a phase of pushes, where head stands still, at any time).
 * What it costs is in tern/queue.h and tests/test_queue_cost.c.
 *
 * Only in a phase of pushes is a ticket given back: one without room, while no pop can make room.
 * Tail has passed every ticket with room for good then, so it ends where the room ends, whoever
 * gives back first, and nobody ever owns what is given back.
 */

/* One ticket, of whatever number: room for it is waited for. What was known of room before the
 * ticket was drawn reaches from an earlier ticket on. What becomes known later may be of later
 * tickets: another worker's, or those of calls that run meanwhile, whose slots came free first. */
static tern_status draw(tern_worker *worker, tern_queue *q, tern_promise promise,
                        uint64_t *ticket) {
    bool phase = promise != TERN_PROMISE_READ_WRITE;
    tern_slot_state state = SLOT_READY;
    tern_wait_state wait = TERN_WAIT_IN("a push");
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

/* What is known of room may have been forgotten since it was known to reach so far. */
static uint64_t known_room(tern_queue *q, uint64_t least) {
    uint64_t room = tern_queue_known(&q->room);
    return room > least ? room : least;
}

/* Of the tickets from ticket on, how many of most have room, if one has. */
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

/* Tickets with room. */
static tern_status reserve(tern_worker *worker, tern_queue *q, tern_queue_run run, uint64_t *ticket,
                           size_t *count) {
    tern_wait_state wait = TERN_WAIT_IN("a push");
    uint64_t guess = tern_queue_known(&q->tail_seen), seen = 0;
    bool phase = run.promise != TERN_PROMISE_READ_WRITE;
    for (;;) {
        tern_slot_state state;
        tern_status status = measure_room(worker, q, guess, run, count, &state);
        if (status == TERN_OK && state == SLOT_READY)
            status = tern_queue_may_draw(worker, q, q->pushed, guess, run.promise);
        else if (status == TERN_OK && state == SLOT_NONE && (phase || run.until == TERN_QUEUE_TRY))
            return TERN_ERR_FULL; /* tail is no less than the guess */
        else if (status == TERN_OK)
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
        guess = seen; /* of which others, in a phase of pushes, may give some back */
    }
}

/* Nobody else is there: no atomic operation, but what others will read by one is stored by one. */
static tern_status reserve_alone(tern_worker *worker, tern_queue *q, tern_queue_run run,
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

static void fill(const tern_queue *q, uint64_t *slot, uint64_t ticket, const void *item) {
    slot[q->slot_words - 1] = 0;
    slot[TERN_SLOT_TICKET] = ticket;
    memcpy(slot + TERN_SLOT_ITEM, item, q->item_bytes);
    slot[TERN_SLOT_CHECK] = tern_queue_reads_early(q) ? tern_slot_check_of(q, slot) : 0;
}

/* A popper that comes before they have arrived waits for them. */
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
            fill(q, slot, ticket + at, items);
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

static tern_status push(tern_worker *worker, tern_queue *q, const void *items, tern_queue_run run,
                        uint64_t *slots, size_t room, size_t *done) {
    uint64_t ticket = 0;
    size_t count = 1;
    tern_status status;
    if (run.promise == TERN_PROMISE_LOCAL)
        status = reserve_alone(worker, q, run, &ticket, &count);
    else if (run.until == TERN_QUEUE_FOREVER && !worker->in_handler && !worker->in_progress)
        status = draw(worker, q, run.promise, &ticket);
    else
        status = reserve(worker, q, run, &ticket, &count);
    if (status == TERN_OK)
        status = write_items(worker, q, slots, room, ticket, items, count);
    if (status == TERN_OK)
        status = tern_queue_commit_push(worker, q, ticket, count, run.promise);
    if (status == TERN_OK)
        *done = count;
    return status;
}

/* A batch is put in pieces that fit the stack, if a slot does. */
static tern_status push_large(tern_worker *worker, tern_queue *q, const void *items,
                              tern_queue_run run, size_t *done) {
    uint64_t piece[TERN_SLOT_PIECE];
    size_t room = sizeof piece / q->stride;
    if (room > 0)
        return push(worker, q, items, run, piece, room, done);
    uint64_t *slot = malloc(q->stride);
    if (slot == NULL)
        return tern_queue_no_memory(q);
    tern_status status = push(worker, q, items, run, slot, 1, done);
    free(slot);
    return status;
}

tern_status tern_queue_do_push(tern_worker *worker, tern_queue *queue, const void *items,
                               tern_queue_run run, size_t *done) {
    uint64_t small[TERN_SLOT_SMALL];
    if (__builtin_expect(run.count == 1 && queue->slot_words <= TERN_SLOT_SMALL, 1))
        return push(worker, queue, items, run, small, 1, done);
    return push_large(worker, queue, items, run, done);
}
