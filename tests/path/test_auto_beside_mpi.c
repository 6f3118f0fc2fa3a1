// tern-test: ranks

/*
 * Over shared memory a rank that waits in MPI keeps nobody waiting: operations by TERN_AUTO on
 * what it owns need no call, and so none of its progress.
 */

#include "table_tools.h"

static const tern_flags aut = TERN_AUTO;

/* In MPI_Barrier are all ranks but the last, which works on what rank 0 owns. */
static void everything_by_auto(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { TIMES = 20000, MANY = 100 };
    tern_hashtable *values = NULL, *counters = NULL;
    tern_queue *queue = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 1000},
        &values));
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 1000},
        &counters));
    EXPECT_OK(tern_queue_create(f.worker, &(tern_queue_options){.item_bytes = 8, .capacity = 64},
                                &queue));
    EXPECT_OK(tern_barrier(f.worker));
    tern_stats before, after;
    tern_stats_get(f.worker, &before);
    if (f.rank == f.size - 1) {
        static uint64_t keys[MANY], found[MANY];
        unsigned char there[MANY];
        uint64_t key = number_owned_by(values, 0, 0), value = 7, count, item;
        for (uint64_t i = 0, from = 0; i < MANY; i++, from = keys[i - 1] + 1)
            keys[i] = number_owned_by(values, 0, from);
        EXPECT_OK(tern_hashtable_insert(f.worker, values, &key, &value, aut, NULL));
        bool good = true;
        for (int i = 0; i < TIMES && good; i++) {
            good = tern_hashtable_find(f.worker, values, &key, aut, &value) == TERN_OK &&
                   tern_hashtable_insert(f.worker, values, &key, &value, aut, NULL) == TERN_OK;
            good = good && tern_queue_push(f.worker, queue, &value, aut) == TERN_OK &&
                   tern_queue_pop(f.worker, queue, &item, aut) == TERN_OK;
        }
        CU_ASSERT(good);
        CU_ASSERT_EQUAL(value, 7);
        size_t done;
        for (int i = 0; i < 20; i++) {
            EXPECT_OK(
                tern_hashtable_insert_many(f.worker, values, keys, keys, MANY, TERN_AUTO, &done));
            EXPECT_OK(
                tern_hashtable_find_many(f.worker, values, keys, MANY, aut, found, there, &done));
            CU_ASSERT_EQUAL(done, MANY);
            EXPECT_OK(tern_hashtable_add_many(f.worker, counters, keys, MANY, 1, aut, &done));
            tern_request request = {0};
            EXPECT_OK(
                tern_hashtable_find_start(f.worker, counters, &keys[i], aut, &count, &request));
            EXPECT_OK(tern_wait(f.worker, &request));
            CU_ASSERT_EQUAL(count, i + 1);
        }
        tern_stats_get(f.worker, &after);
        CU_ASSERT_EQUAL(after.calls_sent, before.calls_sent);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_queue_destroy(f.worker, queue));
    EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    EXPECT_OK(tern_hashtable_destroy(f.worker, values));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"everything_by_auto", everything_by_auto}};
    return tern_test_main(argc, argv, "auto_beside_mpi", tests, 1);
}
