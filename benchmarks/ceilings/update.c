/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "ceilings.h"

void ceiling_update_shared(char *objects, uint64_t apart, const uint32_t *which, uint64_t mask,
                           uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *word = (uint64_t *)(void *)(objects + which[i & mask] * apart);
        __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
    }
}

void ceiling_update_private(uint64_t *counts, const uint32_t *which, uint64_t mask, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        counts[which[i & mask]]++;
        __asm__ volatile("" : : : "memory");
    }
}
