// tern-test: ranks survivors least=2

/* A rank dies whose operations an owner has done in part. */

#include "bucket_tools.h"

#include "tern/hashtable.h"

/* Adds of a rank stop in the middle at a bucket that is being taken, and their rank dies. Counts
 * that were added stay, nothing is added twice, and the same keys take what others add. */
static void an_origin_dies_in_the_middle(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    if (!fixture_open(&f, NULL))
        return;
    enum { ADDS = TERN_HASHTABLE_BUFFER_KEYS, HELD = 100 };
    static uint64_t keys[ADDS];
    tern_hashtable *table = NULL;
    tern_hashtable_buffer *buffer = NULL;
    const uint32_t victim = f.size - 1;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 8000},
        &table));
    for (uint64_t i = 0; i < ADDS; i++)
        keys[i] = number_owned_by(table, 0, i == 0 ? 0 : keys[i - 1] + 1);
    const uint64_t state = tern_state_taken(hash_of(table, &keys[HELD]), 0);
    uint64_t seen = 1, count = 0;
    if (f.rank == 0)
        EXPECT_OK(
            tern_atomic_cas(f.worker, bucket_of(table, &keys[HELD]), TERN_FREE, state, &seen));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim) {
        EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 0, &buffer));
        for (size_t i = 0; i < ADDS; i++)
            EXPECT_OK(tern_hashtable_buffer_add(f.worker, buffer, &keys[i], 2));
    }
    const double limit = MPI_Wtime() + TERN_TEST_PATIENCE;
    while (f.rank == 0 && MPI_Wtime() < limit &&
           tern_hashtable_find(f.worker, table, &keys[HELD - 1], 0, &count) != TERN_OK)
        tern_progress(f.worker);
    CU_ASSERT(f.rank != 0 || count == 2);
    fixture_lose(&f, victim);
    if (f.rank == 0)
        EXPECT_OK(
            tern_atomic_cas(f.worker, bucket_of(table, &keys[HELD]), state, TERN_FREE, &seen));
    fixture_meet_living(&f);
    size_t added = 0;
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, ADDS, 3, TERN_BY_CALL, &added));
    CU_ASSERT_EQUAL(added, ADDS);
    fixture_meet_living(&f);
    for (size_t i = 0; i < ADDS; i++) {
        EXPECT_OK(tern_hashtable_find(f.worker, table, &keys[i], TERN_BY_CALL, &count));
        CU_ASSERT(count == 3 * (f.size - 1) + 2 || (i >= HELD && count == 3 * (f.size - 1)));
    }
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"an_origin_dies_in_the_middle", an_origin_dies_in_the_middle},
    };
    tern_liveness_query_ns = UINT64_MAX; /* a bucket is taken by hand, for long */
    return tern_test_main(argc, argv, "hashtable_travel_faults", tests, 1);
}
