/*
 * Tells in which bucket of its owner's part of a map a key lies, for tests of what operations cost:
 * their keys must not collide. Only this file tells such tests about buckets.
 */

#ifndef TERN_TESTS_HARNESS_MAP_BUCKETS_H
#define TERN_TESTS_HARNESS_MAP_BUCKETS_H

#include "fixture.h"

#include "map/map.h"

/* Returns the bucket of the key that is the 8 bytes of number. */
static inline uint64_t map_bucket_of(const tern_map *map, uint64_t number) {
    tern_map_key key;
    tern_map_key_make(map, &number, sizeof number, &key);
    return tern_hash_bucket(map->table, key.hash);
}

#endif
