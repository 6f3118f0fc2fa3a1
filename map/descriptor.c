#include "map/map.h"

uint64_t tern_map_fingerprint_owner(const void *fingerprint, size_t bytes, void *map) {
    (void)bytes;
    (void)map;
    return ((const uint64_t *)fingerprint)[1] >> 32;
}

/* What tells a key from others: its bytes, or the program's digest of them. */
typedef struct map_identity {
    const void *bytes;
    size_t size;
    uint64_t digest[2];
} map_identity;

static void map_identify(const tern_map *map, const void *bytes, size_t size, map_identity *id) {
    id->bytes = bytes;
    id->size = size;
    if (map->key_digest != NULL) {
        map->key_digest(bytes, size, id->digest, map->key_argument);
        id->bytes = id->digest;
        id->size = sizeof id->digest;
    }
}

void tern_map_key_make(const tern_map *map, const void *bytes, size_t size, tern_map_key *key) {
    bytes = size > 0 ? bytes : "";
    map_identity id;
    map_identify(map, bytes, size, &id);
    XXH128_hash_t print = XXH3_128bits_withSeed(id.bytes, id.size, map->table->nonce);
    *key = (tern_map_key){.bytes = bytes,
                          .size = size,
                          .fingerprint = {print.low64, print.high64},
                          .seed = tern_map_seed(map, id.bytes, id.size)};
    if (map->key_owner != NULL) {
        const uint64_t number = map->key_owner(bytes, size, map->key_argument);
        const uint64_t half = XXH3_64bits_withSeed(&number, sizeof number, map->table->nonce);
        key->fingerprint[1] = half >> 32 << 32 | (uint32_t)print.high64;
    }
    key->hash = tern_key_hash(map->table, key->fingerprint);
}

void tern_map_descriptor_make(const tern_map *map, const tern_map_key *key, const void *value,
                              size_t value_bytes, tern_map_descriptor *d) {
    memset(d->words, 0, 8 * tern_map_descriptor_words(map));
    d->words[0] = tern_map_lengths(key->size, value_bytes);
    if (!tern_map_descriptor_is_small(map, d->words)) {
        d->words[1] = key->seed << 32;
        return;
    }
    char *at = (char *)(d->words + 1);
    if (key->size > 0)
        memcpy(at, key->bytes, key->size);
    if (value_bytes > 0)
        memcpy(at + key->size, value, value_bytes);
}

bool tern_map_descriptor_is_of(const tern_map *map, const uint64_t *d, const tern_map_key *key) {
    const size_t size = tern_map_descriptor_key_bytes(d);
    if (size != key->size && map->key_digest == NULL)
        return false;
    if (!tern_map_descriptor_is_small(map, d))
        return d[1] >> 32 == (uint32_t)key->seed;
    map_identity id;
    map_identify(map, tern_map_descriptor_small(d), size, &id);
    return (uint32_t)tern_map_seed(map, id.bytes, id.size) == (uint32_t)key->seed;
}
