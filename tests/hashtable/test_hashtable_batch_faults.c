// tern-test: ranks survivors least=2

/* A rank dies that holds a bucket: batches that need it are told, the others go on. */

#include "bucket_tools.h"

enum { KEYS = 40 };

static void a_rank_dies(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 1000},
        &table));
    uint32_t victim = f.size - 1;
    uint64_t held = number_owned_by(table, 0, 0), keys[KEYS], values[KEYS];
    unsigned char found[KEYS];
    for (uint64_t i = 0, next = 1000; i < KEYS; i++, next = keys[i - 1] + 1) {
        keys[i] = number_owned_by(table, 0, next);
        values[i] = keys[i] * 3;
    }
    if (f.rank == victim)
        tear_bucket(&f, table, &held, &held);
    fixture_lose(&f, victim);

    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        size_t stored = 99, present = 99;
        uint64_t with_held[3] = {keys[0], held, keys[1]}, out[3];
        EXPECT(TERN_ERR_PEER,
               tern_hashtable_insert_many(f.worker, table, with_held, values, 3, path, &stored));
        EXPECT_DETAIL("has died");
        CU_ASSERT(stored == 1 || (stored == 2 && !fixture_all_direct(&f)));
        EXPECT(TERN_ERR_PEER,
               tern_hashtable_find_many(f.worker, table, with_held, 3, path, out, found, &present));
        EXPECT_DETAIL("has died");
        CU_ASSERT_EQUAL(present, 99);
        EXPECT_OK(tern_hashtable_insert_many(f.worker, table, keys, values, KEYS, path, &stored));
        CU_ASSERT_EQUAL(stored, KEYS);
        uint64_t got[KEYS];
        EXPECT_OK(
            tern_hashtable_find_many(f.worker, table, keys, KEYS, path, got, found, &present));
        CU_ASSERT(present == KEYS && memcmp(got, values, sizeof got) == 0);
    }
    /* The others may still call this rank. */
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "hashtable_batch_faults", tests, 1);
}
