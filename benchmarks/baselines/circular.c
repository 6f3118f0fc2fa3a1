/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The circular queue: words tell which slots are free and which are full. */

#include "slots.h"

/* Advances the word from the ticket to the next, once all earlier tickets have done so. */
static tern_status circular_persist(tern_worker *worker, baseline_queue *q, uint64_t word,
                                    uint64_t ticket) {
    for (;;) {
        uint64_t seen;
        tern_status status =
            tern_atomic_cas(worker, slots_word(q, word), ticket, ticket + 1, &seen);
        if (status != TERN_OK || seen == ticket)
            return status;
        status = slots_pause(worker, q, false);
        if (status != TERN_OK)
            return status;
    }
}

static tern_status circular_put(tern_worker *worker, baseline_queue *q, uint64_t ticket,
                                const void *item) {
    tern_status status = tern_put(worker, slots_place(q, ticket), item, q->item_bytes);
    /* The CAS may not overtake the put. */
    return status == TERN_OK ? tern_fence(worker, q->host) : status;
}

tern_status circular_push(tern_worker *worker, baseline_queue *q, const void *item) {
    uint64_t ticket;
    bool room = false;
    tern_status status = tern_atomic_fetch_add(worker, slots_word(q, TAIL_AT), 1, &ticket);
    if (status == TERN_OK)
        status = slots_learn(worker, q, HEAD_READY_AT, ticket, q->capacity, &q->popped, &room);
    while (status == TERN_OK && !room) {
        status = slots_pause(worker, q, false);
        if (status == TERN_OK)
            status = slots_learn(worker, q, HEAD_READY_AT, ticket, q->capacity, &q->popped, &room);
    }
    if (status == TERN_OK)
        status = circular_put(worker, q, ticket, item);
    return status == TERN_OK ? circular_persist(worker, q, TAIL_READY_AT, ticket) : status;
}

tern_status circular_pop(tern_worker *worker, baseline_queue *q, void *item) {
    uint64_t ticket;
    bool there = false;
    tern_status status = tern_atomic_fetch_add(worker, slots_word(q, HEAD_AT), 1, &ticket);
    if (status == TERN_OK)
        status = slots_learn(worker, q, TAIL_READY_AT, ticket, 0, &q->pushed, &there);
    while (status == TERN_OK && !there) {
        status = slots_pause(worker, q, false);
        if (status == TERN_OK)
            status = slots_learn(worker, q, TAIL_READY_AT, ticket, 0, &q->pushed, &there);
    }
    if (status == TERN_OK)
        status = tern_get(worker, item, slots_place(q, ticket), q->item_bytes);
    return status == TERN_OK ? circular_persist(worker, q, HEAD_READY_AT, ticket) : status;
}

/* ---- In a handler ---- */

/* Draws a ticket if all earlier ones are done, so that its commit does not wait, and if it lies
 * before the limit, which is so far ahead of another word. */
static tern_status circular_draw(tern_worker *worker, const baseline_queue *q, uint64_t word,
                                 uint64_t ready, uint64_t limit, uint64_t ahead, uint64_t *ticket) {
    uint64_t done = 0, other = 0, seen;
    tern_status status = tern_atomic_load(worker, slots_word(q, word), ticket);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, slots_word(q, ready), &done);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, slots_word(q, limit), &other);
    if (status != TERN_OK)
        return status;
    if (done != *ticket || other + ahead <= *ticket)
        return TERN_ERR_AGAIN;
    status = tern_atomic_cas(worker, slots_word(q, word), *ticket, *ticket + 1, &seen);
    return status == TERN_OK && seen != *ticket ? TERN_ERR_AGAIN : status;
}

tern_status circular_push_in_handler(tern_worker *worker, baseline_queue *q, const void *item) {
    uint64_t ticket;
    tern_status status =
        circular_draw(worker, q, TAIL_AT, TAIL_READY_AT, HEAD_READY_AT, q->capacity, &ticket);
    if (status == TERN_OK)
        status = circular_put(worker, q, ticket, item);
    return status == TERN_OK ? circular_persist(worker, q, TAIL_READY_AT, ticket) : status;
}

tern_status circular_pop_in_handler(tern_worker *worker, baseline_queue *q, void *item) {
    uint64_t ticket;
    tern_status status =
        circular_draw(worker, q, HEAD_AT, HEAD_READY_AT, TAIL_READY_AT, 0, &ticket);
    if (status == TERN_OK)
        status = tern_get(worker, item, slots_place(q, ticket), q->item_bytes);
    return status == TERN_OK ? circular_persist(worker, q, HEAD_READY_AT, ticket) : status;
}
