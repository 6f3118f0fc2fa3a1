// tern-test: transports

/*
 * Hash table while all ranks change it at once, by RMA and by calls: each key once, nothing counted
 * twice or lost, no value torn.
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
            tern_hashtable_insert(f.worker, table, &number, value, any_via(&random), &existed));
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
                                     any_writer(&random) | any_via(&random), &before));
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
            tern_hashtable_find(f.worker, table, &k, TERN_READ_ONLY | any_via(&random), &count);
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
                EXPECT_OK(
                    tern_hashtable_insert(f.worker, table, &number, value, any_via(&random), NULL));
                continue;
            }
            tern_status status =
                tern_hashtable_find(f.worker, table, &number, any_via(&random), value);
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

/* What a rank has inserted it finds, and finds what it inserted, whatever the others do. */
static void own_writes_are_seen(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 512 };
    tern_hashtable *table = make(&f, 8, 24, KEYS * f.size);
    uint64_t random = fixture_seed(&f, 4), version[KEYS] = {0};
    unsigned char value[24];
    for (int i = fixture_times(&f, 3000); i > 0; i--) {
        uint64_t k = below(&random, KEYS), number = k * f.size + f.rank;
        if (below(&random, 2)) {
            make_value(value, 24, number, ++version[k]);
            int existed = -1;
            EXPECT_OK(
                tern_hashtable_insert(f.worker, table, &number, value, any_via(&random), &existed));
            CU_ASSERT_EQUAL(existed, version[k] > 1);
        }
        EXPECT(version[k] > 0 ? TERN_OK : TERN_ERR_NOT_FOUND,
               tern_hashtable_find(f.worker, table, &number, any_via(&random), value));
        if (version[k] > 0)
            CU_ASSERT(is_value(value, 24, number, version[k]));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Batches of overlapping keys, with repeats inside a batch, both ways at once, with single adds. */
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
        size_t count = below(&random, fixture_all_near(&f) ? BATCH : BATCH / 8), added = 12345;
        uint64_t delta = below(&random, 1000);
        for (size_t k = 0; k < count; k++) {
            uint64_t number = below(&random, number_of_keys);
            make_key(keys + k * key_bytes, key_bytes, number);
            mine[number] += delta;
        }
        EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, count, delta,
                                          any_writer(&random) | any_via(&random), &added));
        CU_ASSERT_EQUAL(added, count);
        uint64_t number = below(&random, number_of_keys);
        make_key(key, key_bytes, number);
        mine[number] += 1;
        EXPECT_OK(tern_hashtable_add(f.worker, table, key, 1, any_via(&random), NULL));
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
            tern_hashtable_find(f.worker, table, key, TERN_READ_ONLY | any_via(&random), &count);
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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"one_insert_is_the_first", one_insert_is_the_first},
        {"every_count_once", every_count_once},
        {"values_are_never_torn", values_are_never_torn},
        {"own_writes_are_seen", own_writes_are_seen},
        {"batches_of_words", batches_of_words},
        {"batches_of_odd_keys", batches_of_odd_keys},
    };
    return tern_test_main(argc, argv, "hashtable_races", tests, sizeof tests / sizeof tests[0]);
}
