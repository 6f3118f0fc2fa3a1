// tern-test: transports

/*
 * Hash table while all ranks change it at once, by RMA and by calls: each key once, nothing counted
 * twice or lost, no value torn, while keys come, go and come back. And what changes refuse.
 */

#include "table_tools.h"

#include <stdlib.h>

static tern_hashtable *make(fixture *f, size_t key_bytes, size_t value_bytes, uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = key_bytes,
                                      .value_bytes = value_bytes,
                                      .counter = value_bytes == 0,
                                      .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

/* All ranks insert the same keys in different orders: of all inserts of a key one is the first. */
static void one_insert_is_the_first(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 256 };
    tern_hashtable *table = make(&f, 8, 16, KEYS);
    uint64_t random = fixture_seed(&f, 1), keys = (uint64_t)fixture_times(&f, KEYS);
    keys = keys < KEYS ? keys : KEYS;
    unsigned char first[KEYS] = {0}, all[64][KEYS];
    uint64_t start = below(&random, keys);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t number = (start + i) % keys, value[2];
        make_value(value, 16, number, f.rank);
        int existed = -1;
        EXPECT_OK(
            tern_hashtable_insert(f.worker, table, &number, value, any_path(&random), &existed));
        first[number] = existed == 0;
    }
    fixture_share(&f, first, sizeof first, all);
    for (uint64_t k = 0; k < keys; k++) {
        int firsts = 0;
        for (uint32_t r = 0; r < f.size; r++)
            firsts += all[r][k];
        CU_ASSERT_EQUAL(firsts, 1);
    }
    CU_ASSERT_EQUAL(total_keys(&f, table), keys);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Every add of 1 to a key finds another count before it: 0, 1, 2, ... over all ranks. */
static void every_count_once(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 3, MOST = 4000 };
    tern_hashtable *table = make(&f, 8, 0, 64);
    uint64_t random = fixture_seed(&f, 2);
    static uint32_t seen[KEYS][4 * MOST];
    uint64_t adds[KEYS] = {0};
    int times = fixture_times(&f, 1000);
    times = times < MOST ? times : MOST;
    memset(seen, 0, sizeof seen);
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < times; i++) {
        uint64_t key = below(&random, KEYS), before = UINT64_MAX;
        EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1,
                                     any_writer(&random) | any_path(&random), &before));
        CU_ASSERT(before < 4 * MOST);
        if (before < 4 * MOST)
            seen[key][before]++;
        adds[key]++;
    }
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t *all = malloc(f.size * sizeof seen);
    uint64_t total[64][KEYS];
    fixture_share(&f, seen, sizeof seen, all);
    fixture_share(&f, adds, sizeof adds, total);
    for (uint64_t k = 0; k < KEYS; k++) {
        uint64_t sum = 0, wrong = 0, count = 0;
        for (uint32_t r = 0; r < f.size; r++)
            sum += total[r][k];
        for (uint64_t b = 0; b < 4 * MOST; b++) {
            uint32_t times_seen = 0;
            for (uint32_t r = 0; r < f.size; r++)
                times_seen += all[(r * KEYS + k) * 4 * MOST + b];
            wrong += times_seen != (b < sum);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        tern_status status =
            tern_hashtable_find(f.worker, table, &k, TERN_READ_ONLY | any_path(&random), &count);
        CU_ASSERT(status == (sum > 0 ? TERN_OK : TERN_ERR_NOT_FOUND));
        CU_ASSERT_EQUAL(count, sum);
    }
    free(all);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Ranks overwrite a few keys while all find them: a value is always one that was written whole, and
 * the versions of one writer never go back. */
static void values_are_never_torn(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    static const size_t sizes[] = {16, 120, 1000};
    enum { KEYS = 3 };
    uint64_t random = fixture_seed(&f, 3);
    for (size_t s = 0; s < 3; s++) {
        size_t bytes = sizes[s];
        tern_hashtable *table = make(&f, 8, bytes, 16);
        unsigned char value[1000];
        uint64_t newest[KEYS][64] = {{0}}, version = 0, torn = 0, back = 0;
        EXPECT_OK(tern_barrier(f.worker));
        for (int i = fixture_times(&f, 2000); i > 0; i--) {
            uint64_t number = below(&random, KEYS), found;
            if (below(&random, 2)) {
                make_value(value, bytes, number, (uint64_t)f.rank << 32 | ++version);
                EXPECT_OK(tern_hashtable_insert(f.worker, table, &number, value, any_path(&random),
                                                NULL));
                continue;
            }
            tern_status status =
                tern_hashtable_find(f.worker, table, &number, any_path(&random), value);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
            if (status != TERN_OK)
                continue;
            memcpy(&found, value, 8);
            uint32_t writer = (uint32_t)(found >> 32);
            torn += writer >= f.size || !is_value(value, bytes, number, found);
            if (writer < f.size && writer != f.rank) {
                back += found < newest[number][writer];
                newest[number][writer] = found;
            }
        }
        CU_ASSERT_EQUAL(torn, 0);
        CU_ASSERT_EQUAL(back, 0);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    }
    fixture_close(&f);
}

/* Batches of overlapping keys, with repeats inside a batch, by both paths at once, with single
 * adds. */
static void batches(size_t key_bytes, int salt) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 600, BATCH = 1500 };
    tern_hashtable *table = make(&f, key_bytes, 0, KEYS);
    uint64_t random = fixture_seed(&f, (uint64_t)salt), mine[KEYS] = {0}, wrong = 0;
    unsigned char *keys = malloc(BATCH * key_bytes), key[KEY_MAX];
    uint64_t *all = malloc(f.size * sizeof mine);
    uint64_t number_of_keys = key_bytes == 1 ? 200 : KEYS;
    int times = fixture_times(&f, 40);
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = 0; i < times; i++) {
        size_t count = below(&random, fixture_all_direct(&f) ? BATCH : BATCH / 8), added = 12345;
        uint64_t delta = below(&random, 1000);
        for (size_t k = 0; k < count; k++) {
            uint64_t number = below(&random, number_of_keys);
            make_key(keys + k * key_bytes, key_bytes, number);
            mine[number] += delta;
        }
        EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, count, delta,
                                          any_writer(&random) | any_path(&random), &added));
        CU_ASSERT_EQUAL(added, count);
        uint64_t number = below(&random, number_of_keys);
        make_key(key, key_bytes, number);
        mine[number] += 1;
        EXPECT_OK(tern_hashtable_add(f.worker, table, key, 1, any_path(&random), NULL));
    }
    fixture_share(&f, mine, sizeof mine, all);
    uint64_t expected_keys = 0;
    for (uint64_t number = 0; number < number_of_keys; number++) {
        uint64_t sum = 0, count = 0;
        for (uint32_t r = 0; r < f.size; r++)
            sum += all[r * KEYS + number];
        expected_keys += sum > 0;
        make_key(key, key_bytes, number);
        if (number % f.size != f.rank)
            continue;
        tern_status status =
            tern_hashtable_find(f.worker, table, key, TERN_READ_ONLY | any_path(&random), &count);
        wrong += count != sum || (status != TERN_OK && status != TERN_ERR_NOT_FOUND);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(total_keys(&f, table) >= expected_keys);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    free(keys);
    free(all);
    fixture_close(&f);
}

static void batches_of_words(void) { batches(8, 5); }

static void batches_of_odd_keys(void) {
    batches(1, 6);
    batches(19, 7);
}

static tern_hashtable *make_set(fixture *f, uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8, .capacity = capacity};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    const tern_flags reads = TERN_READ_ONLY;
    const tern_flags rma = TERN_BY_RMA;
    tern_worker *w = f.worker;
    tern_hashtable *values = make(&f, 8, 8, 10), *counters = make(&f, 8, 0, 10);
    uint64_t key = 1, before = 77;
    int existed = 77;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        EXPECT(TERN_ERR_ARGUMENT,
               tern_hashtable_insert_new(w, values, &key, &key, reads | path, &existed));
        EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, values, &key, reads | path));
        EXPECT_DETAIL("TERN_READ_ONLY");
        EXPECT(TERN_ERR_ARGUMENT,
               tern_hashtable_compare_swap(w, counters, &key, 0, 1, reads | path, &before));
    }
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_new(w, values, &key, NULL, rma, NULL));
    EXPECT_DETAIL("value is NULL");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert_new(w, counters, &key, &key, rma, NULL));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_compare_swap(w, values, &key, 0, 1, rma, &before));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_erase(w, values, NULL, rma));
    const uint64_t limit = UINT64_C(1) << 61;
    EXPECT(TERN_ERR_RANGE, tern_hashtable_compare_swap(w, counters, &key, limit, 1, rma, &before));
    EXPECT_DETAIL("2305843009213693952");
    EXPECT(TERN_ERR_RANGE, tern_hashtable_compare_swap(w, counters, &key, 1, ~limit, rma, &before));
    EXPECT(TERN_ERR_NOT_FOUND,
           tern_hashtable_compare_swap(w, counters, &key, 1 - limit, limit - 1, rma, &before));
    CU_ASSERT_EQUAL(before, 77);
    CU_ASSERT_EQUAL(existed, 77);
    CU_ASSERT_EQUAL(total_keys(&f, values) + total_keys(&f, counters), 0);
    end(&f, values);
    end(&f, counters);
    fixture_close(&f);
}

/* Counters wrap around at 62 bits, and an add that large does an erased one no harm. */
static void counters_at_their_limits(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 8, 0, 10 * f.size);
    const uint64_t top = (UINT64_C(1) << 61) - 1;
    uint64_t key = f.rank, before = 77;
    const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, top, rma, &before));
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, call, &before));
    CU_ASSERT_EQUAL(before, top);
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, rma, &before));
    CU_ASSERT_EQUAL(before, ~top);
    EXPECT_OK(tern_hashtable_erase(f.worker, table, &key, rma));
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, UINT64_MAX, rma, &before));
    CU_ASSERT_EQUAL(before, 0);
    EXPECT_OK(tern_hashtable_compare_swap(f.worker, table, &key, UINT64_MAX, ~top, call, &before));
    CU_ASSERT_EQUAL(before, UINT64_MAX);
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, UINT64_MAX, rma, &before));
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, call, &before));
    CU_ASSERT_EQUAL(before, top);
    end(&f, table);
    fixture_close(&f);
}

/* Keys that come and go do not use up the table. */
static void erased_keys_come_back(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 8 };
    tern_hashtable *table = make(&f, 8, 16, KEYS);
    for (uint64_t version = 1; version < (fixture_all_direct(&f) ? 60 : 6); version++) {
        for (uint64_t key = f.rank; key < KEYS; key += f.size) {
            uint64_t value[2];
            int existed = 77;
            make_value(value, 16, key, version);
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value,
                                            version % 2 ? TERN_BY_RMA : TERN_BY_CALL, &existed));
            CU_ASSERT_EQUAL(existed, 0);
            EXPECT_OK(tern_hashtable_erase(f.worker, table, &key,
                                           version % 3 ? TERN_BY_RMA : TERN_BY_CALL));
        }
    }
    CU_ASSERT_EQUAL(total_keys(&f, table), 0);
    end(&f, table);
    fixture_close(&f);
}

/* All ranks insert_new and erase a few keys: of each key, successes of the one kind and of the
 * other take turns. */
static void inserts_and_erases_take_turns(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 3 };
    static const size_t sizes[] = {0, 200};
    for (size_t s = 0; s < 2; s++) {
        size_t bytes = sizes[s];
        tern_hashtable *table = bytes > 0 ? make(&f, 8, bytes, KEYS) : make_set(&f, KEYS);
        uint64_t random = fixture_seed(&f, 20 + s), count[2 * KEYS] = {0}, all[64][2 * KEYS];
        unsigned char value[200];
        uint64_t torn = 0;
        EXPECT_OK(tern_barrier(f.worker));
        for (int i = fixture_times(&f, 500); i > 0; i--) {
            uint64_t key = below(&random, KEYS);
            int existed = 77;
            tern_status status;
            switch (below(&random, 3)) {
            case 0:
                make_value(value, bytes, key, (uint64_t)i);
                EXPECT_OK(tern_hashtable_insert_new(f.worker, table, &key, value, any_path(&random),
                                                    &existed));
                count[key] += existed == 0;
                break;
            case 1:
                status = tern_hashtable_erase(f.worker, table, &key, any_path(&random));
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
                count[KEYS + key] += status == TERN_OK;
                break;
            default:
                status = tern_hashtable_find(f.worker, table, &key, any_path(&random), value);
                CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
                uint64_t version = 0;
                memcpy(&version, value, bytes < 8 ? 0 : 8);
                torn += status == TERN_OK && !is_value(value, bytes, key, version);
            }
        }
        CU_ASSERT_EQUAL(torn, 0);
        fixture_share(&f, count, sizeof count, all);
        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t inserted = 0, erased = 0;
            for (uint32_t r = 0; r < f.size; r++) {
                inserted += all[r][key];
                erased += all[r][KEYS + key];
            }
            tern_status status = tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, value);
            CU_ASSERT_EQUAL(inserted - erased, status == TERN_OK);
        }
        end(&f, table);
    }
    fixture_close(&f);
}

/* Every life of a counter begins with one add that finds 0, and ends with one erase. */
static void counters_live_and_die(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 2 };
    tern_hashtable *table = make(&f, 8, 0, KEYS);
    uint64_t random = fixture_seed(&f, 30), count[2 * KEYS] = {0}, all[64][2 * KEYS];
    EXPECT_OK(tern_barrier(f.worker));
    for (int i = fixture_times(&f, 1200); i > 0; i--) {
        uint64_t key = below(&random, KEYS), before = 77;
        tern_status status;
        switch (below(&random, 4)) {
        case 0:
            status = tern_hashtable_erase(f.worker, table, &key, any_path(&random));
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_NOT_FOUND);
            count[KEYS + key] += status == TERN_OK;
            break;
        case 1:
            status = tern_hashtable_compare_swap(f.worker, table, &key, 5, 6, any_path(&random),
                                                 &before);
            CU_ASSERT(status == TERN_ERR_NOT_FOUND || (before > 0 && status == TERN_OK));
            break;
        default:
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, any_path(&random), &before));
            count[key] += before == 0;
        }
    }
    fixture_share(&f, count, sizeof count, all);
    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t begun = 0, ended = 0, now = 0;
        for (uint32_t r = 0; r < f.size; r++) {
            begun += all[r][key];
            ended += all[r][KEYS + key];
        }
        tern_status status = tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &now);
        CU_ASSERT_EQUAL(begun - ended, status == TERN_OK);
        CU_ASSERT(status != TERN_OK || now > 0);
    }
    end(&f, table);
    fixture_close(&f);
}

/* Ranks count by compare_swap what they read before: nothing is lost. */
static void compare_swap_loses_nothing(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 8, 0, 4);
    uint64_t random = fixture_seed(&f, 40), key = 9, mine = 0, all[64], sum = 0, count = 77;
    if (f.rank == 0)
        EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 0, TERN_BY_RMA, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t expected = 0;
    for (int i = fixture_times(&f, 1000); i > 0; i--) {
        uint64_t before = 77;
        EXPECT_OK(tern_hashtable_compare_swap(f.worker, table, &key, expected, expected + 1,
                                              any_path(&random), &before));
        mine += before == expected;
        expected = before == expected ? expected + 1 : before;
    }
    fixture_share(&f, &mine, sizeof mine, all);
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &count));
    CU_ASSERT_EQUAL(count, sum);
    end(&f, table);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"one_insert_is_the_first", one_insert_is_the_first},
        {"every_count_once", every_count_once},
        {"values_are_never_torn", values_are_never_torn},
        {"batches_of_words", batches_of_words},
        {"batches_of_odd_keys", batches_of_odd_keys},
        {"arguments_are_checked", arguments_are_checked},
        {"counters_at_their_limits", counters_at_their_limits},
        {"erased_keys_come_back", erased_keys_come_back},
        {"inserts_and_erases_take_turns", inserts_and_erases_take_turns},
        {"counters_live_and_die", counters_live_and_die},
        {"compare_swap_loses_nothing", compare_swap_loses_nothing},
    };
    return tern_test_main(argc, argv, "hashtable_races", tests, sizeof tests / sizeof tests[0]);
}
