// tern-test: ranks survivors

/* Rank 0 is dead, and others go on updating and finding one value: the state of a bucket that has
 * been updated names nobody, which is not rank 0. */

#include "survivors.h"
#include "table_tools.h"

static const tern_promise rw = TERN_PROMISE_READ_WRITE;

static unsigned char value[1024];

/* Ranks 1, its owner, and 3 update the value while the others find it, often torn. */
static void share_a_value(fixture *f, tern_hashtable *table, uint64_t key) {
    uint64_t failures = 0;
    double end = MPI_Wtime() + 0.5;
    for (uint64_t round = 2; MPI_Wtime() < end && failures == 0; round++) {
        const tern_via via = round % 8 == 0 ? TERN_VIA_CALL : TERN_VIA_RMA;
        if (f->rank % 2 == 1) {
            memset(value, (int)(round % 256), sizeof value);
            failures +=
                !EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, value, rw, via, NULL));
        } else {
            failures += !EXPECT_OK(tern_hashtable_find(f->worker, table, &key, rw, via, value));
            failures += memcmp(value, value + 1, sizeof value - 1) != 0;
        }
        tern_progress(f->worker);
    }
    CU_ASSERT_EQUAL(failures, 0);
}

static void others_update_when_rank_0_is_dead(void) {
    fixture f;
    if (tern_test_size() < 3) {
        tern_test_skip("two have to be left");
        return;
    }
    if (!fixture_open(&f, NULL))
        return;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = sizeof value, .capacity = 100};
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    const uint64_t key = number_owned_by(table, 1, 0), of_dead = number_owned_by(table, 0, 0);
    for (int i = 0; i < 2 && f.rank == 1; i++)
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, rw, TERN_VIA_RMA, NULL));
    fixture_lose(&f, 0);
    start_clock();
    TOLD(0, tern_hashtable_find(f.worker, table, &of_dead, rw, TERN_VIA_CALL, value));
    /* The death is known from here on. */
    share_a_value(&f, table, key);
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"others_update_when_rank_0_is_dead", others_update_when_rank_0_is_dead},
    };
    return tern_test_main(argc, argv, "hashtable_writer_faults", tests, 1);
}
