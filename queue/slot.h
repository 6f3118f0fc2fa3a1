#ifndef TERN_QUEUE_SLOT_H
#define TERN_QUEUE_SLOT_H

/* Computes the global addresses of slots and turns, reads and writes them while other ranks do the
 * same, and computes the check that makes a slot valid. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "queue/queue.h"
#include "rma/transfer.h"

/* A slot's words: check, ticket, item. */
enum { TERN_SLOT_CHECK, TERN_SLOT_TICKET, TERN_SLOT_ITEM };

/* The largest slot, and the largest piece of a batch, that is built on the stack, in words. */
enum { TERN_SLOT_SMALL = 128, TERN_SLOT_PIECE = 1024 };

static inline uint64_t tern_slot_number(const tern_queue *q, uint64_t ticket) {
    return q->mask != 0 ? ticket & q->mask : ticket % q->capacity;
}

static inline uint64_t tern_slot_generation(const tern_queue *q, uint64_t ticket) {
    return q->mask != 0 ? ticket >> q->shift : ticket / q->capacity;
}

static inline tern_ptr tern_slot_gaddr(const tern_queue *q, uint64_t ticket) {
    return tern_ptr_add(q->slots, (int64_t)(tern_slot_number(q, ticket) * q->stride));
}

static inline tern_ptr tern_turn_gaddr(const tern_queue *q, uint64_t ticket) {
    return tern_ptr_add(q->turns, (int64_t)(tern_slot_number(q, ticket) * TERN_TURN_BYTES));
}

/* Number of slots that follow each other in memory, from ticket's slot on. */
static inline uint64_t tern_slots_in_row(const tern_queue *q, uint64_t ticket) {
    return q->capacity - tern_slot_number(q, ticket);
}

/* Words of count slots that follow each other, without the padding of the last one. */
static inline size_t tern_slots_words(const tern_queue *q, size_t count) {
    return (count - 1) * (q->stride / 8) + q->slot_words;
}

static inline uint64_t *tern_slot_in(const tern_queue *q, uint64_t *slots, size_t i) {
    return slots + i * (q->stride / 8);
}

static inline uint64_t tern_slot_check_of(const tern_queue *q, const uint64_t *slot) {
    return XXH3_64bits_withSeed(slot + TERN_SLOT_TICKET, 8 * (q->slot_words - 1), q->nonce);
}

/* Get and put slots and turns, which other ranks may be writing. With shared memory they copy word
 * by word. transfer: of the access, which may be under way on return; NULL: none may be. */
static inline tern_status tern_slot_get(tern_worker *worker, uint64_t *to, tern_ptr from,
                                        size_t words, tern_transfer *transfer) {
    const uint64_t *direct = (const void *)tern_internal_reach_address(worker, from, 8 * words);
    if (__builtin_expect(direct == NULL, 0))
        return transfer != NULL ? tern_transfer_get(worker, to, from, 8 * words, transfer)
                                : tern_get(worker, to, from, 8 * words);
    for (size_t i = 0; i < words; i++)
        /* R1: tern_slot_put */
        to[i] = __atomic_load_n(direct + i, __ATOMIC_ACQUIRE);
    return TERN_OK;
}

static inline tern_status tern_slot_put(tern_worker *worker, tern_ptr to, const uint64_t *from,
                                        size_t words, tern_transfer *transfer) {
    uint64_t *direct = (void *)tern_internal_reach_address(worker, to, 8 * words);
    if (__builtin_expect(direct == NULL, 0))
        return transfer != NULL ? tern_transfer_put(worker, to, from, 8 * words, transfer)
                                : tern_put(worker, to, from, 8 * words);
    for (size_t i = 0; i < words; i++)
        /* R1: tern_slot_get */
        __atomic_store_n(direct + i, from[i], __ATOMIC_RELEASE);
    return TERN_OK;
}

/* Raises a known value. If two workers do so at the same time, one value may be lost; the one that
 * stays is still true. The release pairs with the acquire of tern_queue_known: a worker that uses a
 * value is ordered after everything that the worker that learned it was ordered after, such as the
 * pop that freed the slot. */
static inline void tern_queue_learn(_Atomic uint64_t *known, uint64_t value) {
    /* R1: tern_queue_known */
    if (atomic_load_explicit(known, memory_order_relaxed) < value)
        atomic_store_explicit(known, value, memory_order_release);
}

/* Stores to a word that no other worker uses in this phase. If the word's atomics are the
 * processor's, this is one store of the processor. */
static inline tern_status tern_queue_set_alone(tern_worker *worker, tern_ptr word, uint64_t value) {
    uint64_t *direct = tern_internal_atomic_address(worker, word, sizeof *direct);
    if (direct == NULL)
        return tern_atomic_store(worker, word, value);
    /* R1: tern_queue_load; workers of the next phase read it */
    __atomic_store_n(direct, value, __ATOMIC_RELEASE);
    return TERN_OK;
}

static inline uint64_t tern_queue_known(_Atomic uint64_t *known) {
    /* R1: tern_queue_learn */
    return atomic_load_explicit(known, memory_order_acquire);
}

#endif
