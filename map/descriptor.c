#include "map/map.h"

uint64_t tern_map_fingerprint_owner(const void *fingerprint, size_t bytes, void *map) {
    (void)bytes;
    (void)map;
    return ((const uint64_t *)fingerprint)[1] >> 32;
}

void tern_map_key_make(const tern_map *map, const void *bytes, size_t size, tern_map_key *key) {
    bytes = size > 0 ? bytes : "";
    XXH128_hash_t print = XXH3_128bits_withSeed(bytes, size, map->table->nonce);
    *key = (tern_map_key){.bytes = bytes,
                          .size = size,
                          .fingerprint = {print.low64, print.high64},
                          .seed = tern_map_seed(map, bytes, size)};
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
    d->words[0] = (uint64_t)value_bytes << 32 | key->size;
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
    if (size != key->size)
        return false;
    uint64_t tag = tern_map_descriptor_is_small(map, d)
                       ? tern_map_seed(map, tern_map_descriptor_small(d), size)
                       : d[1] >> 32;
    return (uint32_t)tag == (uint32_t)key->seed;
}
