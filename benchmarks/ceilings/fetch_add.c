/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The old value is used, so that the compiler makes lock xadd and not lock add. */

#include "ceilings.h"

uint64_t ceiling_fetch_add(uint64_t *word, uint64_t n) {
    uint64_t old = 0;
    while (n-- > 0) {
        old = __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
        __asm__ volatile("" : "+r"(old) : : "memory");
    }
    return old;
}
