/* Where a key's bucket lies, for tests that play a rank which dies with it in hand. */

#ifndef TERN_TESTS_BUCKET_TOOLS_H
#define TERN_TESTS_BUCKET_TOOLS_H

#include "table_tools.h"

#include "hashtable/table.h"
#include "tern/transfer.h"

/* Out of line: the compiler would think of keys that are longer than these. */
static __attribute__((noinline)) uint64_t hash_of(const tern_hashtable *table,
                                                  const uint64_t *key) {
    return tern_key_hash(table, key);
}

static inline tern_ptr bucket_of(const tern_hashtable *table, const uint64_t *key) {
    uint64_t hash = hash_of(table, key);
    return tern_ptr_add(table->part[tern_hash_owner(table, hash)].buckets,
                        (int64_t)(tern_hash_bucket(table, hash) * table->shape.stride));
}

#endif
