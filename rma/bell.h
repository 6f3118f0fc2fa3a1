#ifndef TERN_RMA_BELL_H
#define TERN_RMA_BELL_H

/*
 * Bells: how a sender wakes a target that has stopped polling its ring. A bit per origin in the
 * target's board, and one word that says that any is set, so that listening costs one cache line.
 */

#include "rma/segment.h"

/* The bit first, then the word: a listener that takes the word sees the bit (release, acquire). */
static inline void tern_bell_ring(char *board, size_t bells, uint32_t origin) {
    _Atomic uint64_t *bits = (_Atomic uint64_t *)(void *)(board + bells);
    _Atomic uint64_t *any = (_Atomic uint64_t *)(void *)board;
    atomic_fetch_or_explicit(&bits[origin / 64], (uint64_t)1 << (origin % 64),
                             memory_order_release);
    atomic_store_explicit(any, 1, memory_order_release);
}

static inline bool tern_bell_rung(char *board) {
    _Atomic uint64_t *any = (_Atomic uint64_t *)(void *)board;
    return atomic_load_explicit(any, memory_order_relaxed) != 0 &&
           atomic_exchange_explicit(any, 0, memory_order_acq_rel) != 0;
}

#endif
