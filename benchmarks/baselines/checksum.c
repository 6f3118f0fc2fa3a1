/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The checksum queue: slots tell themselves whether they are full. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "slots.h"

/* The ticket is part of what is checked: a slot holds one item in each generation. */
static uint64_t checksum_of(const baseline_queue *q, uint64_t ticket, const void *item) {
    return XXH3_64bits_withSeed(item, q->item_bytes, ticket + 1);
}

tern_status checksum_put(tern_worker *worker, baseline_queue *q, uint64_t ticket,
                         const void *item) {
    char slot[SLOT_MAX];
    const uint64_t check = checksum_of(q, ticket, item);
    memcpy(slot, &ticket, sizeof ticket);
    memcpy(slot + 8, &check, sizeof check);
    memcpy(slot + CHECKED_AT, item, q->item_bytes);
    q->unflushed = true;
    return tern_put(worker, slots_place(q, ticket), slot, CHECKED_AT + q->item_bytes);
}

tern_status checksum_push(tern_worker *worker, baseline_queue *q, const void *item) {
    uint64_t ticket;
    bool room = false;
    tern_status status = tern_atomic_fetch_add(worker, slots_word(q, TAIL_AT), 1, &ticket);
    if (status == TERN_OK)
        status = slots_learn(worker, q, HEAD_AT, ticket, q->capacity, &q->popped, &room);
    while (status == TERN_OK && !room) {
        status = slots_pause(worker, q, false);
        if (status == TERN_OK)
            status = slots_learn(worker, q, HEAD_AT, ticket, q->capacity, &q->popped, &room);
    }
    return status == TERN_OK ? checksum_put(worker, q, ticket, item) : status;
}

tern_status checksum_push_in_handler(tern_worker *worker, baseline_queue *q, const void *item) {
    uint64_t ticket, head = 0, seen;
    tern_status status = tern_atomic_load(worker, slots_word(q, TAIL_AT), &ticket);
    if (status == TERN_OK)
        status = tern_atomic_load(worker, slots_word(q, HEAD_AT), &head);
    if (status != TERN_OK)
        return status;
    if (head + q->capacity <= ticket)
        return TERN_ERR_AGAIN;
    status = tern_atomic_cas(worker, slots_word(q, TAIL_AT), ticket, ticket + 1, &seen);
    if (status == TERN_OK && seen != ticket)
        return TERN_ERR_AGAIN;
    return status == TERN_OK ? checksum_put(worker, q, ticket, item) : status;
}

/* Draws the ticket, whose slot is in hand. An atomic over a network may run handlers, which pop
 * from the same queue. [out] drawn. [out] next: the ticket to try next. */
static tern_status checksum_draw(tern_worker *worker, const baseline_queue *q, uint64_t ticket,
                                 bool *drawn, uint64_t *next) {
    uint64_t seen;
    tern_status status = tern_atomic_cas(worker, slots_word(q, HEAD_AT), ticket, ticket + 1, &seen);
    *drawn = status == TERN_OK && seen == ticket;
    if (status == TERN_OK)
        *next = *drawn ? ticket + 1 : seen;
    return status;
}

tern_status checksum_pop(tern_worker *worker, baseline_queue *q, void *item, bool in_handler) {
    char slot[SLOT_MAX];
    for (;;) {
        const uint64_t next = q->next;
        uint64_t ticket, check, head;
        bool drawn;
        tern_status status =
            tern_get(worker, slot, slots_place(q, next), CHECKED_AT + q->item_bytes);
        if (status != TERN_OK)
            return status;
        memcpy(&ticket, slot, sizeof ticket);
        memcpy(&check, slot + 8, sizeof check);
        if (ticket == next && check == checksum_of(q, ticket, slot + CHECKED_AT)) {
            status = checksum_draw(worker, q, ticket, &drawn, &q->next);
            if (status == TERN_OK && drawn)
                memcpy(item, slot + CHECKED_AT, q->item_bytes);
            if (status != TERN_OK || drawn)
                return status;
            continue;
        }
        status = tern_atomic_load(worker, slots_word(q, HEAD_AT), &head);
        if (status == TERN_OK && head == next)
            status = slots_pause(worker, q, in_handler);
        if (status != TERN_OK)
            return status;
        q->next = head;
    }
}
