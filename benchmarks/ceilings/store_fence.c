/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* gcc and clang compile the fence to a locked instruction or mfence, as in tern_flush. */

#include "ceilings.h"

void ceiling_store_fence(uint64_t *word, uint64_t n) {
    for (uint64_t i = 1; i <= n; i++) {
        __atomic_store_n(word, i, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        __asm__ volatile("" : : : "memory");
    }
}
