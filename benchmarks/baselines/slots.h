/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the two kinds of queue share. The host's memory:
 *
 *     0      tail          tickets drawn to push
 *     128    head          tickets drawn to pop
 *     256    tail_ready    circular: all earlier tickets are pushed
 *     384    head_ready    circular: all earlier tickets are popped
 *     512    slots         circular: an item; checksum: ticket, check, item
 */

#ifndef TERN_BASELINES_SLOTS_H
#define TERN_BASELINES_SLOTS_H

#include <stdbool.h>

#include "queue.h"

enum {
    TAIL_AT = 0,
    HEAD_AT = 128,
    TAIL_READY_AT = 256,
    HEAD_READY_AT = 384,
    SLOTS_AT = 512,
    CHECKED_AT = 16, /* where the item of a slot with a check begins */
    SLOT_MAX = CHECKED_AT + BASELINE_ITEM_MAX
};

struct baseline_queue {
    baseline_queue_kind kind;
    uint32_t rank, host;
    size_t item_bytes, stride;
    uint64_t capacity;
    tern_ptr memory;
    uint64_t at_host; /* the address of the host's baseline_queue, for handlers there */
    /* What this rank knows; the words are at least that. */
    uint64_t popped, pushed;
    uint64_t next;  /* checksum: the ticket that the next pop tries */
    bool unflushed; /* a push has left its put to be delivered */
};

static inline tern_ptr slots_word(const baseline_queue *q, uint64_t at) {
    tern_ptr place = q->memory;
    place.offset += at;
    return place;
}

static inline tern_ptr slots_place(const baseline_queue *q, uint64_t ticket) {
    return slots_word(q, SLOTS_AT + ticket % q->capacity * q->stride);
}

/* Makes *known, a copy of the word, more than ticket - ahead if the word is. [out] there: it is. */
static inline tern_status slots_learn(tern_worker *worker, const baseline_queue *q, uint64_t word,
                                      uint64_t ticket, uint64_t ahead, uint64_t *known,
                                      bool *there) {
    tern_status status = TERN_OK;
    if (*known + ahead <= ticket)
        status = tern_atomic_load(worker, slots_word(q, word), known);
    *there = *known + ahead > ticket;
    return status;
}

/* One step of a wait, which the rank's own put may be the end of. */
tern_status slots_pause(tern_worker *worker, baseline_queue *q, bool in_handler);

/* circular.c, checksum.c: the read/write operations. In a handler of the host they do not wait:
 * TERN_ERR_AGAIN, and nothing has changed. */
tern_status circular_push(tern_worker *worker, baseline_queue *q, const void *item);
tern_status circular_pop(tern_worker *worker, baseline_queue *q, void *item);
tern_status circular_push_in_handler(tern_worker *worker, baseline_queue *q, const void *item);
tern_status circular_pop_in_handler(tern_worker *worker, baseline_queue *q, void *item);
tern_status checksum_push(tern_worker *worker, baseline_queue *q, const void *item);
tern_status checksum_push_in_handler(tern_worker *worker, baseline_queue *q, const void *item);
tern_status checksum_pop(tern_worker *worker, baseline_queue *q, void *item, bool in_handler);

/* Puts an item and what its slot holds besides. */
tern_status checksum_put(tern_worker *worker, baseline_queue *q, uint64_t ticket, const void *item);

#endif
