// tern-test: ranks survivors least=2

/* A rank dies while it inserts and while it updates: a rank that needs that bucket is told, and
 * everything else goes on. */

#include "bucket_tools.h"
#include "survivors.h"

/* Each of two ranks makes progress for the other while it waits for a bucket there. */
static void ask_each_other(fixture *f, tern_hashtable *table, const uint64_t held[2]) {
    for (int i = 0; i < 20 && f->rank < 2; i++) {
        uint64_t value[2];
        EXPECT(TERN_ERR_PEER,
               tern_hashtable_find(f->worker, table, &held[1 - f->rank], TERN_BY_RMA, value));
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
    tern_hashtable *counters = NULL, *values = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 1000},
        &counters));
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 16, .capacity = 1000},
        &values));
    uint32_t victim = f.size - 1;
    uint64_t begun = number_owned_by(counters, 0, 0), locked = number_owned_by(values, 0, 100);
    const uint64_t held[2] = {number_owned_by(values, 0, 300), number_owned_by(values, 1, 300)};
    uint64_t whole = number_owned_by(values, 0, 200), value[2], seen, count;
    make_value(value, 16, locked, 1);
    if (f.rank == victim) {
        tear_bucket(&f, values, &locked, value);
        for (int i = 0; i < 2; i++)
            tear_bucket(&f, values, &held[i], value);
        EXPECT_OK(tern_hashtable_insert(f.worker, values, &whole, value, TERN_BY_RMA, NULL));
        uint64_t hash = hash_of(counters, &begun);
        EXPECT_OK(tern_atomic_cas(f.worker, bucket_of(counters, &begun), TERN_FREE,
                                  tern_state_taken(hash, f.rank), &seen));
    }
    fixture_lose(&f, victim);

    if (f.size > 2)
        ask_each_other(&f, values, held);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        size_t added = 77;
        EXPECT(TERN_ERR_PEER, tern_hashtable_add(f.worker, counters, &begun, 1, path, NULL));
        EXPECT_DETAIL("has died");
        EXPECT(TERN_ERR_PEER,
               tern_hashtable_add_many(f.worker, counters, &begun, 1, 1, path, &added));
        CU_ASSERT_EQUAL(added, 0);
        EXPECT(TERN_ERR_PEER, tern_hashtable_find(f.worker, values, &locked, path, value));
        EXPECT(TERN_ERR_PEER, tern_hashtable_insert(f.worker, values, &locked, value, path, NULL));
        EXPECT(TERN_ERR_PEER, tern_hashtable_erase(f.worker, values, &locked, path));
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, counters, &begun, path, &count));
        EXPECT_OK(tern_hashtable_find(f.worker, values, &whole, path, value));
        make_value(value, 16, whole, 2 + f.rank);
        EXPECT_OK(tern_hashtable_insert(f.worker, values, &whole, value, path, NULL));
        uint64_t other = number_owned_by(counters, 0, 300);
        EXPECT_OK(tern_hashtable_add(f.worker, counters, &other, 1, path, NULL));
    }
    /* The others may still call this rank. */
    fixture_meet_living(&f);
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, counters));
    EXPECT(TERN_ERR_PEER, tern_hashtable_destroy(f.worker, values));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_holding_buckets", a_rank_dies_holding_buckets},
    };
    return tern_test_main(argc, argv, "hashtable_faults", tests, 1);
}
