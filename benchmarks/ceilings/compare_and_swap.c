/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Each operation expects the value that the one before stored, as in a counter by
 * compare-and-swap. */

#include "ceilings.h"

uint64_t ceiling_compare_and_swap(uint64_t *word, uint64_t n) {
    uint64_t seen = *word, expected;
    while (n-- > 0) {
        expected = seen;
        __atomic_compare_exchange_n(word, &expected, seen + 1, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        seen = expected + 1;
        __asm__ volatile("" : "+r"(seen) : : "memory");
    }
    return seen;
}
