/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "ceilings.h"

void ceiling_histogram(uint64_t *const part[2], const uint32_t *which, uint64_t mask,
                       uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++) {
        uint32_t index = which[i & mask];
        __atomic_fetch_add(&part[index % 2][index / 2], 1, __ATOMIC_SEQ_CST);
    }
}

void ceiling_gather(uint64_t *const part[2], const uint32_t *which, uint64_t mask, uint64_t first,
                    uint64_t n, uint64_t *got) {
    for (uint64_t i = first; i < first + n; i++) {
        uint32_t index = which[i & mask];
        got[i & mask] = __atomic_load_n(&part[index % 2][index / 2], __ATOMIC_RELAXED);
        __asm__ volatile("" : : : "memory");
    }
}
