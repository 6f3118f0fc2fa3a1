/*
 * In which bucket of its owner's part of a map a key lies: for tests of what operations cost, whose
 * keys must not meet. Such tests know of buckets by this file alone.
 */

#ifndef TERN_TESTS_HARNESS_MAP_BUCKETS_H
#define TERN_TESTS_HARNESS_MAP_BUCKETS_H

#include "fixture.h"

#include "map/map.h"

/* The key is the number's 8 bytes. */
static inline uint64_t map_bucket_of(const tern_map *map, uint64_t number) {
    tern_map_key key;
    tern_map_key_make(map, &number, sizeof number, &key);
    return tern_hash_bucket(map->table, key.hash);
}

#endif
