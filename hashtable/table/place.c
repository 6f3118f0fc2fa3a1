#include "hashtable/table/table.h"

/* Maps hash to a hash of the rank (tern_hash_owner) that the program's number selects. The results
 * spread over that rank's hashes as well as hash does over all. The hashes of rank r begin at
 * r * 2^64 / ranks, which r * share + r is not below, and there are at least share of them. */
static uint64_t place_hash(const tern_hashtable *table, uint64_t hash, uint64_t number) {
    const uint64_t share = UINT64_MAX / table->ranks;
    const uint64_t rank = tern_multiply_high(XXH3_64bits(&number, sizeof number), table->ranks);
    return rank * share + rank + tern_multiply_high(hash, share - table->ranks);
}

uint64_t tern_users_hash(const tern_hashtable *table, const void *key) {
    uint64_t hash;
    if (table->key_hash != NULL) {
        uint64_t users = table->key_hash(key, table->key_bytes, table->key_argument);
        hash = XXH3_64bits(&users, sizeof users);
    } else {
        hash = XXH3_64bits(key, table->key_bytes);
    }
    if (table->key_owner == NULL)
        return hash;
    return place_hash(table, hash, table->key_owner(key, table->key_bytes, table->key_argument));
}
