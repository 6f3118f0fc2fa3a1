#ifndef TERN_MAP_MAP_H
#define TERN_MAP_MAP_H

/*
 * Map: a hash table of fixed-size entries. Its key is a fingerprint of the map's key, its value a
 * descriptor of the map's key and value, in 8-byte words:
 *
 *     0    lengths: bytes of the key (bits 0-31), of the value (32-63)
 *     1..  small: key and value, one right behind the other, padded with zeros
 *
 *     1    large: the rank whose segment holds the block (0-31), tag of the key (32-63)
 *     2           the block's offset there
 *     3           its check
 *
 * Which of the two follows from the lengths. A block is the key, padded to words, and the value.
 *
 * Fingerprint: 128 bits of XXH3, seeded with the table's nonce, which is random and never told: no
 * key can be made to meet another one's. Tag: 32 more, of another hash. That two keys of a map
 * differ and agree in all 160 and in their lengths is less likely than that memory errs by itself;
 * it is looked at all the same: a find compares the keys themselves, and an insert, which need not
 * have the other key at hand, refuses to replace what its tag shows to be another one's.
 *
 * Check: a hash of the value seeded with one of the key, seeded with the nonce. It needs no
 * version. A find that reads a block after it was given back either meets the very bytes that the
 * descriptor spoke of, so they are what the map held when the descriptor was read, which is where
 * the find linearizes; or others, which do not pass, and looks at the descriptor again. Segments
 * stay mapped as long as the context, so to read memory of somebody else's by then does no harm.
 */

#include "hashtable/table.h"
#include "tern/map.h"
#include "tern/transfer.h"

enum {
    TERN_MAP_FINGERPRINT = 16, /* bytes */
    TERN_MAP_INLINE_MIN = 24,  /* what a block's place takes */
    TERN_MAP_WORDS_MAX = 1 + TERN_MAP_INLINE_MAX / 8
};

struct tern_map {
    tern_context *context;
    tern_hashtable *table; /* whose key_argument is the map */
    size_t inline_bytes;
};

/* A key, where it belongs, and what tells it from others. bytes is NULL where a message left the
 * key itself behind. */
typedef struct tern_map_key {
    const void *bytes;
    size_t size;
    uint64_t fingerprint[2];
    uint64_t hash; /* the table's, of the fingerprint */
    uint64_t seed; /* of its check; the lower half is its tag */
} tern_map_key;

typedef struct tern_map_descriptor {
    uint64_t words[TERN_MAP_WORDS_MAX];
} tern_map_descriptor;

static inline size_t tern_map_descriptor_words(const tern_map *map) {
    return 1 + map->inline_bytes / 8;
}

static inline size_t tern_map_descriptor_key_bytes(const uint64_t *d) { return d[0] & UINT32_MAX; }
static inline size_t tern_map_descriptor_value_bytes(const uint64_t *d) { return d[0] >> 32; }

static inline bool tern_map_descriptor_is_small(const tern_map *map, const uint64_t *d) {
    return tern_map_descriptor_key_bytes(d) + tern_map_descriptor_value_bytes(d) <=
           map->inline_bytes;
}

/* The key and, right behind it, the value of a small one. */
static inline const char *tern_map_descriptor_small(const uint64_t *d) {
    return (const char *)(d + 1);
}

static inline uint64_t tern_map_seed(const tern_map *map, const void *key, size_t bytes) {
    return XXH3_64bits_withSeed(key, bytes, ~map->table->nonce);
}

/* bytes may be NULL if size is 0. */
void tern_map_key_make(const tern_map *map, const void *bytes, size_t size, tern_map_key *key);

/* [out] d: small, or large with everything but the block's place and check. */
void tern_map_descriptor_make(const tern_map *map, const tern_map_key *key, const void *value,
                              size_t value_bytes, tern_map_descriptor *d);

/* Whether a descriptor that lies under the key's fingerprint has its length and tag too. */
bool tern_map_descriptor_is_of(const tern_map *map, const uint64_t *d, const tern_map_key *key);

#endif
