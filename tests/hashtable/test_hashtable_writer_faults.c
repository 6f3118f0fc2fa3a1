// tern-test: ranks survivors least=3

/* Rank 0 is dead, and others go on updating and finding one value: the state of a bucket that has
 * been updated names nobody, which is not rank 0. One that rank 0 has inserted names it until the
 * first update, and a rank that meets the entry torn by that waits for the rank that updates it. */

#include "bucket_tools.h"
#include "survivors.h"

#include "hashtable/op/op.h"

static unsigned char value[1024];

/* Ranks 1, its owner, and 3 update the value while the others find it, often torn. */
static void share_a_value(fixture *f, tern_hashtable *table, uint64_t key) {
    uint64_t failures = 0;
    double end = MPI_Wtime() + 0.5;
    for (uint64_t round = 2; MPI_Wtime() < end && failures == 0; round++) {
        const tern_flags path = round % 8 == 0 ? TERN_BY_CALL : TERN_BY_RMA;
        if (f->rank % 2 == 1) {
            memset(value, (int)(round % 256), sizeof value);
            failures +=
                !EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, value, path, NULL));
        } else {
            failures += !EXPECT_OK(tern_hashtable_find(f->worker, table, &key, path, value));
            failures += memcmp(value, value + 1, sizeof value - 1) != 0;
        }
        tern_progress(f->worker);
    }
    CU_ASSERT_EQUAL(failures, 0);
}

/* Rank 1 updates for the first time what rank 0 inserted; the others come when the entry is torn.
 */
static void wait_for_the_first_update(fixture *f, tern_hashtable *table, uint64_t key) {
    const uint64_t torn = 12345, hash = hash_of(table, &key), old = tern_state_taken(hash, 0);
    const tern_ptr bucket = bucket_of(table, &key), at = tern_ptr_add(bucket, 24);
    uint64_t whole = 0, now = old;
    if (f->rank == 1) {
        const uint64_t locked = tern_state_locked(hash, 1);
        EXPECT_OK(tern_get(f->worker, &whole, at, sizeof whole));
        EXPECT_OK(tern_put(f->worker, at, &torn, sizeof torn));
        EXPECT_OK(tern_flush(f->worker, 1));
        EXPECT_OK(tern_atomic_cas(f->worker, bucket, old, locked, &now));
        CU_ASSERT_EQUAL(now, old);
        for (double end = MPI_Wtime() + 0.2; MPI_Wtime() < end; sched_yield())
            tern_progress(f->worker);
        EXPECT_OK(tern_put(f->worker, at, &whole, sizeof whole));
        EXPECT_OK(tern_flush(f->worker, 1));
        EXPECT_OK(
            tern_atomic_cas(f->worker, bucket, locked, tern_state_unlocked(hash, false), &now));
        CU_ASSERT_EQUAL(now, locked);
        return;
    }
    while (now == old && EXPECT_OK(tern_atomic_load(f->worker, bucket, &now)))
        tern_progress(f->worker);
    uint64_t found[sizeof value / 8];
    EXPECT_OK(tern_hashtable_find(f->worker, table, &key, TERN_BY_RMA, found));
}

static void others_update_when_rank_0_is_dead(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = sizeof value, .capacity = 100};
    const tern_hashtable_options small = {.key_bytes = 8, .value_bytes = 8, .capacity = 100};
    tern_hashtable *table = NULL, *inserted = NULL;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    EXPECT_OK(tern_hashtable_create(f.worker, &small, &inserted));
    const uint64_t key = number_owned_by(table, 1, 0), of_dead = number_owned_by(table, 0, 0);
    for (int i = 0; i < 2 && f.rank == 1; i++)
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, TERN_BY_RMA, NULL));
    if (f.rank == 0)
        EXPECT_OK(tern_hashtable_insert(f.worker, inserted, &key, value, TERN_BY_RMA, NULL));
    fixture_lose(&f, 0);
    start_clock();
    TOLD(0, tern_hashtable_find(f.worker, table, &of_dead, TERN_BY_CALL, value));
    /* The death is known from here on. */
    wait_for_the_first_update(&f, inserted, key);
    share_a_value(&f, table, key);
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, inserted));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"others_update_when_rank_0_is_dead", others_update_when_rank_0_is_dead},
    };
    tern_liveness_query_ns = UINT64_MAX; /* buckets are locked by hand, for long */
    return tern_test_main(argc, argv, "hashtable_writer_faults", tests, 1);
}
