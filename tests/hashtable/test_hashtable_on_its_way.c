// tern-test: transports least=2

/*
 * The moments in the middle of an insert and of an update of a hash table, held still by taking
 * buckets by hand: what other ranks see and what they wait for.
 */

#include "bucket_tools.h"

static tern_hashtable *make(fixture *f, size_t key_bytes, size_t value_bytes, uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = key_bytes,
                                      .value_bytes = value_bytes,
                                      .counter = value_bytes == 0,
                                      .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static __attribute__((noinline)) void seal(const tern_hashtable *table, uint64_t hash,
                                           uint64_t *entry, uint64_t stamp) {
    entry[0] =
        tern_entry_check(table->nonce, tern_hash_bucket(table, hash), table->shape, entry, stamp);
}

/* Takes the first bucket of a key for this rank, as an insert does, and leaves it without an entry.
 */
static tern_ptr take_bucket(fixture *f, const tern_hashtable *table, uint64_t key) {
    uint64_t hash = hash_of(table, &key), seen = 1;
    tern_ptr bucket = tern_ptr_add(table->part[tern_hash_owner(table, hash)].buckets,
                                   (int64_t)(tern_hash_bucket(table, hash) * table->shape.stride));
    EXPECT_OK(
        tern_atomic_cas(f->worker, bucket, TERN_FREE, tern_state_taken(hash, f->rank), &seen));
    CU_ASSERT_EQUAL(seen, TERN_FREE);
    return bucket;
}

/* What an insert of a counter does last. */
static void fill_bucket(fixture *f, const tern_hashtable *table, uint64_t key, tern_ptr bucket) {
    uint64_t entry[2] = {0, key};
    seal(table, hash_of(table, &key), entry, tern_stamp_inserted(f->rank));
    EXPECT_OK(tern_put(f->worker, tern_ptr_add(bucket, table->shape.entry_at), entry, 16));
    EXPECT_OK(tern_flush(f->worker, bucket.rank));
}

static void serve_for(fixture *f, double seconds) {
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        tern_progress(f->worker);
}

/* The last rank holds an insert in the middle: finds do not see the key, adds wait for it. */
static void an_insert_on_its_way(tern_flags path) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { BATCH = 700, BUSY = 300 };
    tern_hashtable *table = make(&f, 8, 0, 10000);
    uint32_t writer = f.size - 1, owner = f.size / 2;
    uint64_t keys[BATCH], count = 99;
    for (size_t i = 0; i < BATCH; i++)
        keys[i] = number_owned_by(table, owner, i == 0 ? 0 : keys[i - 1] + 1);
    if (f.size == 1) {
        tern_test_skip("one rank cannot overtake itself");
    } else if (f.rank == writer) {
        for (int turn = 0; turn < 2; turn++) {
            uint64_t key = turn == 0 ? keys[BATCH - 1] : keys[BUSY];
            tern_ptr bucket = take_bucket(&f, table, key);
            EXPECT_OK(tern_barrier(f.worker));
            EXPECT_OK(tern_barrier(f.worker));
            serve_for(&f, 0.03);
            fill_bucket(&f, table, key, bucket);
            EXPECT_OK(tern_barrier(f.worker));
        }
    } else {
        uint64_t key = keys[BATCH - 1];
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, table, &key, path, &count));
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == 0)
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 5, path, NULL));
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_hashtable_find(f.worker, table, &key, path, &count));
        CU_ASSERT_EQUAL(count, 5);

        /* In the middle of a batch: what was done before it is not done again. */
        size_t added = 0;
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_barrier(f.worker));
        if (f.rank == 0) {
            EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, BATCH, 1, path, &added));
            CU_ASSERT_EQUAL(added, BATCH);
        }
        EXPECT_OK(tern_barrier(f.worker));
        for (size_t i = 0; i < BATCH; i += 10) {
            EXPECT_OK(tern_hashtable_find(f.worker, table, &keys[i], path, &count));
            CU_ASSERT_EQUAL(count, 1);
        }
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void an_insert_on_its_way_by_rma(void) { an_insert_on_its_way(TERN_BY_RMA); }

static void an_insert_on_its_way_by_call(void) { an_insert_on_its_way(TERN_BY_CALL); }

/* An update held in the middle: finds and inserts wait for its lock. */
static void an_update_on_its_way(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 8, 16, 1000);
    uint32_t writer = f.size - 1;
    uint64_t key = number_owned_by(table, f.size / 2, 0), value[2], entry[4];
    uint64_t hash = hash_of(table, &key);
    if (f.rank == writer) {
        make_value(value, 16, key, 1);
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, TERN_BY_RMA, NULL));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL && f.size > 1; path *= 2) {
        uint64_t locked = tern_state_locked(hash, writer), seen;
        if (f.rank == writer) {
            tern_ptr bucket =
                tern_ptr_add(table->part[tern_hash_owner(table, hash)].buckets,
                             (int64_t)(tern_hash_bucket(table, hash) * table->shape.stride));
            tern_ptr place = tern_ptr_add(bucket, table->shape.entry_at);
            EXPECT_OK(tern_get(f.worker, entry, place, sizeof entry));
            uint64_t state = tern_state_of_check(entry[0], hash);
            EXPECT_OK(tern_atomic_cas(f.worker, bucket, state, locked, &seen));
            CU_ASSERT_EQUAL(seen, state);
            entry[3] ^= 1;
            EXPECT_OK(tern_put(f.worker, place, entry, sizeof entry));
            EXPECT_OK(tern_flush(f.worker, place.rank));
            EXPECT_OK(tern_barrier(f.worker));
            serve_for(&f, 0.03);
            entry[3] ^= 1;
            EXPECT_OK(tern_put(f.worker, place, entry, sizeof entry));
            EXPECT_OK(tern_flush(f.worker, place.rank));
            EXPECT_OK(
                tern_atomic_cas(f.worker, bucket, locked, tern_state_unlocked(hash, false), &seen));
        } else {
            EXPECT_OK(tern_barrier(f.worker));
            int existed = 0;
            if (f.rank == 0)
                EXPECT_OK(tern_hashtable_find(f.worker, table, &key, path, value));
            make_value(value, 16, key, 2 + f.rank);
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, path, &existed));
            CU_ASSERT_EQUAL(existed, 1);
        }
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_hashtable_find(f.worker, table, &key, path, value));
        CU_ASSERT(value[0] >= 2 && is_value(value, 16, key, value[0]));
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"an_insert_on_its_way_by_rma", an_insert_on_its_way_by_rma},
        {"an_insert_on_its_way_by_call", an_insert_on_its_way_by_call},
        {"an_update_on_its_way", an_update_on_its_way},
    };
    tern_liveness_query_ns = UINT64_MAX; /* buckets are locked by hand, for long */
    return tern_test_main(argc, argv, "hashtable_on_its_way", tests, 3);
}
