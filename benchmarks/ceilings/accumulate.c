/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* A loop that any program could have: it adds numbers to words by compare-and-swap. */

#include "ceilings.h"

#include <string.h>

void ceiling_accumulate(uint64_t *words, const double *values, size_t count, uint64_t n) {
    while (n-- > 0) {
        for (size_t i = 0; i < count; i++) {
            uint64_t seen = words[i], after;
            do {
                double sum;
                memcpy(&sum, &seen, sizeof sum);
                sum += values[i];
                memcpy(&after, &sum, sizeof after);
            } while (!__atomic_compare_exchange_n(words + i, &seen, after, 1, __ATOMIC_SEQ_CST,
                                                  __ATOMIC_SEQ_CST));
        }
        __asm__ volatile("" : "+r"(words) : : "memory");
    }
}
