/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Hash, one access to memory, compare; linear probing. */

#include "ceilings.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct cursor {
    ceiling_bucket *part;
    uint64_t at;
} cursor;

static inline cursor begin(const ceiling_table *table, uint64_t key) {
    uint64_t hash = XXH3_64bits(&key, sizeof key);
    return (cursor){table->part[hash >> 63], (hash & 0xffffffff) * table->buckets >> 32};
}

static inline void advance(const ceiling_table *table, cursor *c) {
    if (++c->at == table->buckets)
        c->at = 0;
}

void ceiling_table_insert(const ceiling_table *table, uint64_t first, uint64_t n) {
    for (uint64_t number = first; n > 0; n--, number += 2) {
        uint64_t key = ceiling_mix(number);
        cursor c = begin(table, key);
        for (;; advance(table, &c)) {
            uint64_t free = 0;
            if (__atomic_compare_exchange_n(&c.part[c.at].state, &free, 1, 0, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST))
                break;
        }
        c.part[c.at].key = key;
        c.part[c.at].value = number;
        __asm__ volatile("" : : : "memory");
    }
}

static inline ceiling_bucket *find(const ceiling_table *table, uint64_t key) {
    cursor c = begin(table, key);
    while (c.part[c.at].key != key)
        advance(table, &c);
    return &c.part[c.at];
}

uint64_t ceiling_table_find(const ceiling_table *table, uint64_t *random, uint64_t bound,
                            uint64_t n) {
    uint64_t wrong = 0;
    while (n-- > 0) {
        uint64_t number = ceiling_random(random, bound);
        wrong += find(table, ceiling_mix(number))->value != number;
        __asm__ volatile("" : : : "memory");
    }
    return wrong;
}

void ceiling_table_add(const ceiling_table *table, uint64_t *random, uint64_t bound, uint64_t n) {
    while (n-- > 0) {
        uint64_t number = ceiling_random(random, bound);
        __atomic_fetch_add(&find(table, ceiling_mix(number))->value, 1, __ATOMIC_SEQ_CST);
    }
}

/* The lines of a group are requested before the first one is used. Nearly every lookup touches one
 * line. */
void ceiling_table_add_many(const ceiling_table *table, uint64_t *random, uint64_t bound,
                            uint64_t n) {
    enum { GROUP = 32 };
    uint64_t keys[GROUP];
    cursor cursors[GROUP];
    while (n > 0) {
        size_t count = n < GROUP ? (size_t)n : GROUP;
        for (size_t i = 0; i < count; i++) {
            keys[i] = ceiling_mix(ceiling_random(random, bound));
            cursors[i] = begin(table, keys[i]);
            __builtin_prefetch(&cursors[i].part[cursors[i].at], 1);
        }
        for (size_t i = 0; i < count; i++) {
            cursor c = cursors[i];
            while (c.part[c.at].key != keys[i])
                advance(table, &c);
            __atomic_fetch_add(&c.part[c.at].value, 1, __ATOMIC_SEQ_CST);
        }
        n -= count;
    }
}
