/* What the hash table's suites have in common: keys and values made from numbers. */

#ifndef TERN_TESTS_HARNESS_TABLE_TOOLS_H
#define TERN_TESTS_HARNESS_TABLE_TOOLS_H

#include "fixture.h"

enum { KEY_MAX = 1024, VALUE_MAX = 65536 };

/* Makes key number of a table. A key of fewer than 8 bytes has only the low bytes of the number. */
static inline void make_key(void *key, size_t bytes, uint64_t number) {
    unsigned char *to = key;
    uint64_t state = number;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = i == 0 ? number : tern_test_random(&state);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* Makes the value of that key in a version. A value of 16 bytes or more contains its version. */
static inline void make_value(void *value, size_t bytes, uint64_t number, uint64_t version) {
    unsigned char *to = value;
    uint64_t state = number * 31 + version;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = i == 0 ? version : tern_test_random(&state);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static inline bool is_value(const void *value, size_t bytes, uint64_t number, uint64_t version) {
    static unsigned char wanted[VALUE_MAX];
    make_value(wanted, bytes, number, version);
    return memcmp(value, wanted, bytes) == 0;
}

static inline tern_flags any_writer(uint64_t *random) {
    return below(random, 2) ? TERN_READ_WRITE : TERN_WRITE_ONLY;
}

static inline tern_flags any_reader(uint64_t *random) {
    return below(random, 2) ? TERN_READ_WRITE : TERN_READ_ONLY;
}

static inline tern_flags any_path(uint64_t *random) { return fixture_path(below(random, 3)); }

/* The first number from start on whose key of 8 bytes rank owns. */
static inline uint64_t number_owned_by(const tern_hashtable *table, uint32_t rank, uint64_t start) {
    while (tern_hashtable_owner(table, &start) != rank)
        start++;
    return start;
}

/* Collective: returns the number of keys of all ranks. */
static inline uint64_t total_keys(fixture *f, tern_hashtable *table) {
    uint64_t mine = 0, all[64], sum = 0;
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_local_size(f->worker, table, &mine));
    fixture_share(f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f->size; r++)
        sum += all[r];
    return sum;
}

#endif
