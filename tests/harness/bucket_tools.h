/* Finds a key's bucket, for tests that play a rank which dies while it holds the bucket. */

#ifndef TERN_TESTS_HARNESS_BUCKET_TOOLS_H
#define TERN_TESTS_HARNESS_BUCKET_TOOLS_H

#include "table_tools.h"

#include "hashtable/table/table.h"
#include "tern/transfer.h"

/* Not inlined: the compiler would otherwise warn of a read beyond these short keys. */
static __attribute__((noinline)) uint64_t hash_of(const tern_hashtable *table,
                                                  const uint64_t *key) {
    return tern_key_hash(table, key);
}

static inline tern_ptr bucket_of(const tern_hashtable *table, const uint64_t *key) {
    uint64_t hash = hash_of(table, key);
    return tern_ptr_add(table->part[tern_hash_owner(table, hash)].buckets,
                        (int64_t)(tern_hash_bucket(table, hash) * table->shape.stride));
}

/* Stores value under key, locks its bucket again and leaves the entry torn. */
static inline void tear_bucket(fixture *f, tern_hashtable *table, const uint64_t *key,
                               const void *value) {
    uint64_t seen, torn = 12345, hash = hash_of(table, key);
    EXPECT_OK(tern_hashtable_insert(f->worker, table, key, value, TERN_BY_RMA, NULL));
    EXPECT_OK(tern_atomic_cas(f->worker, bucket_of(table, key), tern_state_taken(hash, f->rank),
                              tern_state_locked(hash, f->rank), &seen));
    CU_ASSERT_EQUAL(seen, tern_state_taken(hash, f->rank));
    EXPECT_OK(tern_put(f->worker, tern_ptr_add(bucket_of(table, key), 24), &torn, sizeof torn));
}

#endif
