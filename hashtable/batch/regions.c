#include "hashtable/batch/batch.h"

/* A table has at most REGIONS regions: one counter for each still fits the innermost cache. */
enum { REGION_BITS = 11, REGIONS = 1 << REGION_BITS, REGION_BYTES = 2 << 20 };

/* If a region gets so many keys, each of its pages is used more than once. */
enum { KEYS_PER_REGION = 128 };

/* New keys in the order of regions fill a table from its beginning. In a table that grows, owners
 * judge a part as a whole before they enlarge it. So all ranks together must not fill up one region
 * before they come to the next: a rank sorts a sixteenth as many keys at a time as a part has
 * buckets. */
enum { SHARE = 16 };

static uint64_t regions_table_bytes(const tern_hashtable *table) {
    return tern_table_part_of(table, table->rank)->count * table->shape.stride * table->ranks;
}

size_t tern_regions_together(const tern_hashtable *table, size_t count) {
    const uint64_t share = tern_table_part_of(table, table->rank)->count / SHARE;
    size_t most = TERN_REGION_KEYS;
    if (table->grows && share < most)
        most = (size_t)share;
    return count < most ? count : most;
}

bool tern_regions_pay(const tern_hashtable *table, size_t count) {
    uint64_t regions = regions_table_bytes(table) / REGION_BYTES;
    return regions >= 16 && tern_regions_together(table, count) / KEYS_PER_REGION >= regions;
}

/* Uses the bits of the hash that tern_hash_owner and tern_part_bucket use, the uppermost and those
 * below 2^32. Owner and bucket grow with these bits, so regions are in the order of memory. */
static uint32_t region_of(const tern_hashtable *table, uint64_t hash, uint32_t per_owner) {
    uint32_t inside = (uint32_t)(((hash & UINT32_MAX) * per_owner) >> 32);
    return tern_hash_owner(table, hash) * per_owner + inside;
}

void tern_regions_sort(const tern_hashtable *table, const char *keys, size_t count,
                       uint64_t *sorted) {
    const uint32_t per_owner = table->ranks < REGIONS ? REGIONS / table->ranks : 1;
    uint32_t next[REGIONS + 1] = {0}, from = 0;
    for (size_t i = 0; i < count; i++)
        next[region_of(table, tern_key_hash(table, keys + 8 * i), per_owner) % REGIONS]++;
    for (uint32_t r = 0; r < REGIONS; r++) {
        uint32_t here = next[r];
        next[r] = from;
        from += here;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t key;
        memcpy(&key, keys + 8 * i, 8);
        uint64_t hash = tern_key_hash(table, keys + 8 * i);
        sorted[next[region_of(table, hash, per_owner) % REGIONS]++] = key;
    }
}
