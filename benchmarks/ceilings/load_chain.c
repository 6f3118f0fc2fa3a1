/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The latency of a load alone: base + offset is one address. In a loop gcc makes two instructions
 * of it, which costs a fifth; hence the assembly. */

#include "ceilings.h"

static inline uint64_t load(const char *base, uint64_t offset) {
#if defined(__x86_64__)
    __asm__ volatile("mov (%1,%0),%0" : "+r"(offset) : "r"(base) : "memory");
    return offset;
#else
    return __atomic_load_n((const uint64_t *)(const void *)(base + offset), __ATOMIC_RELAXED);
#endif
}

uint64_t ceiling_load_chain(const char *base, uint64_t offset, uint64_t n) {
    while (n-- > 0) {
        offset = load(base, offset);
        __asm__ volatile("" : "+r"(offset) : : "memory");
    }
    return offset;
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Sattolo's shuffle gives a permutation that is one cycle: words[i] is the word after i. */
void ceiling_chain_make(uint64_t *words, size_t bytes, uint64_t shift) {
    uint64_t count = bytes / sizeof *words, state = 1;
    for (uint64_t i = 0; i < count; i++)
        words[i] = i;
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = next_random(&state) % i, swap = words[i];
        words[i] = words[j];
        words[j] = swap;
    }
    for (uint64_t i = 0; i < count; i++)
        words[i] = words[i] * sizeof *words + shift;
}
