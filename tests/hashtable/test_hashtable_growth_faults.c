// tern-test: ranks survivors least=2

/* A rank dies with buckets in hand in a part that then grows: what it only began to insert is gone,
 * what it was writing again is told to be its, everything else has moved. The owner of a part dies:
 * a rank that waits for it is told. */

#include "bucket_tools.h"
#include "survivors.h"

static tern_hashtable *make(fixture *f, uint64_t capacity) {
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f->worker,
        &(tern_hashtable_options){
            .key_bytes = 8, .value_bytes = 16, .capacity = capacity, .grow = 1},
        &table));
    return table;
}

static void serve_for(fixture *f, double seconds) {
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        tern_progress(f->worker);
}

/* The victim takes a free bucket, and tears the entry of another. */
static void take_and_tear(fixture *f, tern_hashtable *table, const uint64_t *begun,
                          const uint64_t *torn, const uint64_t *whole) {
    uint64_t value[2], seen, hash = hash_of(table, begun);
    make_value(value, 16, *torn, 1);
    tear_bucket(f, table, torn, value);
    make_value(value, 16, *whole, 1);
    EXPECT_OK(tern_hashtable_insert(f->worker, table, whole, value, TERN_BY_RMA, NULL));
    EXPECT_OK(tern_atomic_cas(f->worker, bucket_of(table, begun), TERN_FREE,
                              tern_state_taken(hash, f->rank), &seen));
    CU_ASSERT_EQUAL(seen, TERN_FREE);
    /* Its lock dies with it, its entry is whole. */
    hash = hash_of(table, whole);
    EXPECT_OK(tern_atomic_cas(f->worker, bucket_of(table, whole), tern_state_taken(hash, f->rank),
                              tern_state_locked(hash, f->rank), &seen));
}

/* A key of rank 0's whose bucket differs from those of the others. */
static uint64_t apart(const tern_hashtable *table, const uint64_t *others, size_t count,
                      uint64_t start) {
    for (;; start++) {
        start = number_owned_by(table, 0, start);
        uint64_t bucket = tern_hash_bucket(table, hash_of(table, &start));
        size_t same = 0;
        for (size_t i = 0; i < count; i++)
            same += tern_hash_bucket(table, hash_of(table, &others[i])) == bucket;
        if (same == 0)
            return start;
    }
}

static void a_rank_dies_holding_buckets(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 400 };
    tern_hashtable *table = make(&f, 40);
    uint32_t victim = f.size - 1;
    uint64_t special[3], value[2], wrong = 0;
    for (size_t i = 0; i < 3; i++)
        special[i] = apart(table, special, i, 1000000000 * (i + 1));
    if (f.rank == victim)
        take_and_tear(&f, table, &special[0], &special[1], &special[2]);
    fixture_lose(&f, victim);
    serve_for(&f, 0.2);

    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = number_owned_by(table, 0, 2000 * (f.rank + 1) * (i + 1));
        make_value(value, 16, key, 1);
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, TERN_BY_RMA, NULL));
    }
    for (double end = MPI_Wtime() + TERN_TEST_PATIENCE;
         f.rank == 0 && tern_table_part_of(table, 0)->generation == 0 && MPI_Wtime() < end;)
        tern_progress(f.worker);
    if (f.rank == 0)
        CU_ASSERT(tern_table_part_of(table, 0)->generation > 0);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, table, &special[0], path, value));
        EXPECT(TERN_ERR_PEER, tern_hashtable_find(f.worker, table, &special[1], path, value));
        EXPECT(TERN_ERR_PEER,
               tern_hashtable_insert(f.worker, table, &special[1], value, path, NULL));
        EXPECT_OK(tern_hashtable_find(f.worker, table, &special[2], path, value));
        CU_ASSERT(is_value(value, 16, special[2], 1));
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = number_owned_by(table, 0, 2000 * (f.rank + 1) * (i + 1));
        wrong += tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, value) != TERN_OK ||
                 !is_value(value, 16, key, 1);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    tern_status status = TERN_OK;
    for (uint64_t i = 0, key = 0; i < KEYS && status == TERN_OK; i++, key++) {
        key = number_owned_by(table, victim, key);
        status = tern_hashtable_insert(f.worker, table, &key, value, TERN_BY_RMA, NULL);
    }
    EXPECT(TERN_ERR_PEER, status);
    EXPECT_DETAIL("has died");
    /* The others may still call this rank. */
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_size(f.worker, table, value));
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_holding_buckets", a_rank_dies_holding_buckets},
    };
    tern_liveness_query_ns = UINT64_MAX; /* buckets are locked by hand, for long */
    return tern_test_main(argc, argv, "hashtable_growth_faults", tests, 1);
}
