/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Up to 64 bytes are copied inline, by moves from both ends that may overlap in the middle: calling
 * memcpy and its choice of a way cost more than the bytes do. Above that memcpy is used, which
 * knows the machine. */

#include "ceilings.h"

#include <string.h>

typedef struct block16 {
    uint64_t word[2];
} block16;

typedef struct block32 {
    block16 half[2];
} block32;

/* Copies bytes bytes, at least sizeof(type) and at most twice that. */
#define COPY_ENDS(type)                                                                            \
    do {                                                                                           \
        type first, last;                                                                          \
        memcpy(&first, from, sizeof first);                                                        \
        memcpy(&last, from + bytes - sizeof last, sizeof last);                                    \
        memcpy(to, &first, sizeof first);                                                          \
        memcpy(to + bytes - sizeof last, &last, sizeof last);                                      \
    } while (0)

static inline __attribute__((always_inline)) void copy(char *to, const char *from, size_t bytes) {
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes > CEILING_COPY_INLINE || bytes < 8)
        memcpy(to, from, bytes);
    else if (bytes <= 16)
        COPY_ENDS(uint64_t);
    else if (bytes <= 32)
        COPY_ENDS(block16);
    else
        COPY_ENDS(block32);
}

void ceiling_copy(void *to, const void *from, size_t bytes, uint64_t n) {
    while (n-- > 0) {
        copy(to, from, bytes);
        __asm__ volatile("" : "+r"(bytes) : : "memory");
    }
}

void ceiling_copy_stream(char *to, uint64_t slots, uint64_t *from, size_t bytes, uint64_t n) {
    uint64_t slot = 0;
    for (uint64_t i = 0; i < n; i++) {
        *from = i;
        copy(to + slot * bytes, (const char *)from, bytes);
        slot = slot + 1 < slots ? slot + 1 : 0;
        __asm__ volatile("" : "+r"(bytes) : : "memory");
    }
}
