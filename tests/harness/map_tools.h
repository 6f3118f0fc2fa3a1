/* What the map's suites have in common: keys made from numbers, and values of all sizes whose bytes
 * tell to which key and version they belong. */

#ifndef TERN_TESTS_HARNESS_MAP_TOOLS_H
#define TERN_TESTS_HARNESS_MAP_TOOLS_H

#include <stdlib.h>

#include "fixture.h"

enum { MAP_KEY_ROOM = 4096, MAP_VALUE_ROOM = 100 << 10 };

/* Opens a context with segments of that size. */
static inline bool map_open(fixture *f, size_t bytes) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = bytes;
    return fixture_open(f, &config);
}

static inline tern_map *map_make(fixture *f, tern_map_options options) {
    tern_map *map = NULL;
    EXPECT_OK(tern_map_create(f->worker, &options, &map));
    return map;
}

/* Collective: destroys the map when no rank uses it any more. */
static inline void map_end(fixture *f, tern_map *map) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_map_destroy(f->worker, map));
}

static inline void fill_bytes(void *to, size_t bytes, uint64_t state) {
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = tern_test_random(&state);
        memcpy((char *)to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* Makes a key from a number. The sizes lie on both sides of the small size, of a word, and of a
 * buffer on the stack. Numbers below 256 give different keys, of which one is empty. */
static inline size_t make_map_key(void *key, uint64_t number) {
    static const size_t sizes[] = {1, 2, 8, 15, 23, 24, 25, 100, 512, 513, 3000};
    size_t bytes = number == 0 ? 0 : sizes[number % (sizeof sizes / sizeof sizes[0])];
    fill_bytes(key, bytes, number);
    if (bytes > 0)
        *(unsigned char *)key = (unsigned char)number;
    return bytes;
}

/* Makes a key that no other rank makes. */
static inline size_t make_own_key(unsigned char *to, uint32_t rank, uint64_t number) {
    memcpy(to, &rank, sizeof rank);
    return 4 + make_map_key(to + 4, number);
}

static inline size_t map_value_bytes(uint64_t number, uint64_t version) {
    static const size_t sizes[] = {0, 1, 7, 8, 16, 22, 24, 25, 100, 900, 984, 985, 4000, 40000};
    uint64_t state = number * 31 + version;
    uint64_t which = tern_test_random(&state) % 200;
    return which == 0 ? MAP_VALUE_ROOM : sizes[which % (sizeof sizes / sizeof sizes[0])];
}

/* Makes a value. Its first word is the version, if there is room for it. */
static inline size_t make_map_value(void *value, uint64_t number, uint64_t version) {
    size_t bytes = map_value_bytes(number, version);
    fill_bytes(value, bytes, number * 31 + (bytes < 8 ? 0 : version));
    if (bytes >= 8)
        memcpy(value, &version, 8);
    return bytes;
}

/* Whether these bytes are the value of that number in that version. */
static inline bool is_map_value(const void *value, size_t bytes, uint64_t number,
                                uint64_t version) {
    static _Thread_local unsigned char wanted[MAP_VALUE_ROOM];
    return bytes == make_map_value(wanted, number, version) && memcmp(value, wanted, bytes) == 0;
}

/* Whether these bytes are the value of that number in any version. */
static inline bool is_some_map_value(const void *value, size_t bytes, uint64_t number) {
    uint64_t version = 0;
    if (bytes >= 8) {
        memcpy(&version, value, 8);
        return is_map_value(value, bytes, number, version);
    }
    unsigned char wanted[8];
    fill_bytes(wanted, bytes, number * 31);
    return memcmp(value, wanted, bytes) == 0;
}

static inline size_t heap_in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

/* Collective: returns what the heap has in use, before any rank begins. */
static inline size_t heap_at_first(const fixture *f) {
    size_t bytes = heap_in_use(f);
    EXPECT_OK(tern_barrier(f->worker));
    return bytes;
}

/* Collective: empties the map, and expects that all memory of its blocks is free again. before:
 * what the heap had in use when the map was empty. */
static inline void clear_and_expect_heap(fixture *f, tern_map *map, size_t before) {
    uint64_t count = 77;
    EXPECT_OK(tern_map_clear(f->worker, map));
    EXPECT_OK(tern_map_size(f->worker, map, &count));
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_EQUAL(heap_in_use(f), before);
}

#endif
