#ifndef TERN_RMA_MEMORY_DOORBELL_H
#define TERN_RMA_MEMORY_DOORBELL_H

/*
 * Doorbells: how a sender wakes a target that has stopped polling its ring. The target's worker
 * page holds a bit for each origin, a count of messages, and one word that says that any of these
 * has changed, so that listening costs one cache line.
 */

#include "rma/memory/segment.h"

/* The first line of a worker page. A rank that rings first changes the bit or the count, and then
 * sets `any`. */
typedef struct tern_doorbell {
    _Atomic uint64_t any;      /* 1 after a rank has rung */
    _Atomic uint64_t messages; /* messages that ranks of the node have sent to this worker */
    _Atomic uint32_t rounds;   /* rounds of progress begun by the worker (rma/memory/rounds.h) */
    /* Where the worker's thread runs: an index among the NUMA nodes of its rank
     * (rma/memory/placement.h). */
    _Atomic uint32_t numa;
} tern_doorbell;

static inline tern_doorbell *tern_doorbell_of(char *page) { return (tern_doorbell *)(void *)page; }

static inline void tern_doorbell_wake(char *page) {
    /* R8: tern_doorbell_rung; not a store, which would break it */
    atomic_exchange_explicit(&tern_doorbell_of(page)->any, 1, memory_order_release);
}

/* Sets the bit, then the word, so that a listener that takes the word sees the bit (release,
 * acquire). */
static inline void tern_doorbell_ring(char *page, size_t doorbells, uint32_t origin) {
    _Atomic uint64_t *bits = (_Atomic uint64_t *)(void *)(page + doorbells);
    /* R8: hear_doorbells */
    atomic_fetch_or_explicit(&bits[origin / 64], (uint64_t)1 << (origin % 64),
                             memory_order_release);
    tern_doorbell_wake(page);
}

/* Counts a message that is about to be sent, which the target gets by asking MPI. */
static inline void tern_doorbell_message(char *page) {
    /* R4 */
    atomic_fetch_add_explicit(&tern_doorbell_of(page)->messages, 1, memory_order_release);
    tern_doorbell_wake(page);
}

/* Takes back the count of a message that could not be sent. */
static inline void tern_doorbell_no_message(char *page) {
    /* R4 */
    atomic_fetch_sub_explicit(&tern_doorbell_of(page)->messages, 1, memory_order_relaxed);
}

static inline uint64_t tern_doorbell_messages(char *page) {
    /* R4 */
    return atomic_load_explicit(&tern_doorbell_of(page)->messages, memory_order_relaxed);
}

static inline void tern_doorbell_set_numa(char *page, uint32_t index) {
    /* R4 */
    atomic_store_explicit(&tern_doorbell_of(page)->numa, index, memory_order_relaxed);
}

static inline uint32_t tern_doorbell_numa(char *page) {
    /* R4 */
    return atomic_load_explicit(&tern_doorbell_of(page)->numa, memory_order_relaxed);
}

static inline bool tern_doorbell_rung(char *page) {
    _Atomic uint64_t *any = &tern_doorbell_of(page)->any;
    /* R8: tern_doorbell_wake */
    return atomic_load_explicit(any, memory_order_relaxed) != 0 &&
           atomic_exchange_explicit(any, 0, memory_order_acq_rel) != 0;
}

#endif
