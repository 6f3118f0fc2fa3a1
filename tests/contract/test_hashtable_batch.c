// tern-test: transports

/* Many keys of the hash table at once: sizes, limits, duplicates, what races, against what each
 * rank remembers. */

#include "nothing.h"
#include "table_tools.h"

#include <stdlib.h>

static const tern_flags rw = TERN_READ_WRITE;
static const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *values = NULL, *counters = NULL, *calls = NULL, *large = NULL;
    tern_worker *w = f.worker;
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10}, &values));
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 10}, &counters));
    EXPECT_OK(tern_hashtable_create(
        w,
        &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10, .call_only = 1},
        &calls));
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 65536, .capacity = 10},
        &large));
    uint64_t key[2] = {1, 2}, out[2] = {77, 77};
    unsigned char found[2] = {9, 9};
    size_t many = 55;
    static char big[65536];
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_many(NULL, values, key, key, 1, rma, &many));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_many(w, NULL, key, key, 1, rma, &many));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_many(w, values, NULL, key, 1, rma, &many));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert_many(w, values, key, NULL, 1, call, &many));
    EXPECT_DETAIL("values is NULL");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_insert_many(w, values, key, key, 1, TERN_READ_ONLY | rma, &many));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_insert_many(w, values, key, key, 1, TERN_BY_RMA | TERN_BY_CALL, &many));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_insert_many(w, values, key, key, SIZE_MAX / 4, call, &many));
    EXPECT_DETAIL("no memory holds");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert_many(w, counters, key, key, 1, rma, &many));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert_many(w, calls, key, key, 1, rma, &many));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert_many(w, large, key, big, 1, call, NULL));
    EXPECT_DETAIL("TERN_RING_SIZE");
    CU_ASSERT_EQUAL(many, 55);

    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_many(w, values, NULL, 1, rma, out, found, &many));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_find_many(w, values, key, 1, call, NULL, found, &many));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_find_many(w, values, key, 2, rma, &key[1], found, &many));
    EXPECT_DETAIL("overlap");
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find_many(w, values, key, 2, call, out,
                                                       (unsigned char *)out + 15, &many));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_find_many(w, values, key, 1, TERN_WRITE_ONLY | rma, out, found, &many));
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_find_many(w, values, key, SIZE_MAX / 8, rma, out, found, &many));
    EXPECT(TERN_ERR_UNSUPPORTED,
           tern_hashtable_find_many(w, calls, key, 1, rma, out, found, &many));
    EXPECT(TERN_ERR_UNSUPPORTED,
           tern_hashtable_find_many(w, large, key, 1, call, big, found, &many));
    EXPECT_DETAIL("TERN_BY_RMA");
    CU_ASSERT(many == 55 && out[0] == 77 && out[1] == 77 && found[0] == 9 && found[1] == 9);

    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        many = 55;
        EXPECT_OK(tern_hashtable_insert_many(w, values, NULL, NULL, 0, path, &many));
        CU_ASSERT_EQUAL(many, 0);
        many = 55;
        EXPECT_OK(tern_hashtable_find_many(w, values, NULL, 0, path, NULL, NULL, &many));
        CU_ASSERT_EQUAL(many, 0);
        EXPECT_OK(tern_hashtable_find_many(w, counters, key, 2, path, out, found, &many));
        CU_ASSERT(many == 0 && found[0] == 0 && found[1] == 0 && out[0] == 77);
    }
    EXPECT_OK(tern_barrier(w));
    CU_ASSERT_EQUAL(total_keys(&f, values) + total_keys(&f, counters), 0);
    EXPECT_OK(tern_hashtable_destroy(w, values));
    EXPECT_OK(tern_hashtable_destroy(w, counters));
    EXPECT_OK(tern_hashtable_destroy(w, calls));
    EXPECT_OK(tern_hashtable_destroy(w, large));
    fixture_close(&f);
}

enum { EACH = 300, VALUE = 24, BATCH = 700, TABLE_KEYS = 64 * EACH };

typedef struct batch {
    size_t count;
    uint64_t number[BATCH];
    unsigned char keys[12 * BATCH], values[VALUE * BATCH], found[BATCH];
} batch;

static size_t any_count(uint64_t *random) {
    static const size_t edges[] = {0, 1, 2, 15, 16, 17, 511, 512, 513, BATCH};
    return below(random, 2) ? edges[below(random, 10)] : (size_t)below(random, 100);
}

/* Batches with keys many times in them, between phases of batches of finds. */
static void random_phases(const tern_config *config) {
    fixture f;
    if (!fixture_open(&f, config))
        return;
    static batch b;
    static uint64_t version[EACH], all[TABLE_KEYS];
    memset(version, 0, sizeof version);
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker,
        &(tern_hashtable_options){.key_bytes = 12, .value_bytes = VALUE, .capacity = EACH * f.size},
        &table));
    uint64_t random = fixture_seed(&f, 2);
    for (int round = 0; round < 3; round++) {
        tern_flags writes = round % 2 ? TERN_WRITE_ONLY : rw;
        for (int i = fixture_times(&f, 40) / 4; i > 0; i--) {
            size_t stored = 0;
            b.count = any_count(&random);
            for (size_t k = 0; k < b.count; k++) {
                uint64_t own = below(&random, EACH);
                make_key(b.keys + 12 * k, 12, f.rank * EACH + own);
                make_value(b.values + VALUE * k, VALUE, f.rank * EACH + own, ++version[own]);
            }
            EXPECT_OK(tern_hashtable_insert_many(f.worker, table, b.keys, b.values, b.count,
                                                 writes | any_path(&random), &stored));
            CU_ASSERT_EQUAL(stored, b.count);
        }
        fixture_share(&f, version, sizeof version, all);
        for (int i = fixture_times(&f, 40) / 4; i > 0; i--) {
            size_t present = 0, wanted = 0;
            b.count = any_count(&random);
            for (size_t k = 0; k < b.count; k++) {
                b.number[k] = below(&random, EACH * f.size);
                make_key(b.keys + 12 * k, 12, b.number[k]);
            }
            EXPECT_OK(tern_hashtable_find_many(f.worker, table, b.keys, b.count,
                                               any_reader(&random) | any_path(&random), b.values,
                                               b.found, &present));
            for (size_t k = 0; k < b.count; k++) {
                uint64_t v = all[b.number[k]];
                wanted += v > 0;
                CU_ASSERT_EQUAL(b.found[k], v > 0);
                if (v > 0)
                    CU_ASSERT(is_value(b.values + VALUE * k, VALUE, b.number[k], v));
            }
            CU_ASSERT_EQUAL(present, wanted);
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void random_batches(void) { random_phases(NULL); }

/* Which take few keys in a message. */
static void small_rings(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.ring_size = 4096;
    random_phases(&config);
}

/* All ranks write the same few keys, many times each in a batch, and read them meanwhile: what is
 * read is whole, and what stays is the last of somebody's batch. */
static void all_write_the_same_keys(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 7, COUNT = 150 };
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 16, .capacity = 100},
        &table));
    uint64_t random = fixture_seed(&f, 3), keys[COUNT], values[COUNT][2], seen[KEYS][2], all[KEYS];
    unsigned char found[KEYS];
    for (uint64_t k = 0; k < KEYS; k++)
        all[k] = k;
    int rounds = fixture_times(&f, 60) / 4 + 1;
    for (int round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            keys[i] = i % KEYS;
            make_value(values[i], 16, keys[i], (i / KEYS) * 64 + f.rank);
        }
        EXPECT_OK(tern_hashtable_insert_many(f.worker, table, keys, values, COUNT,
                                             any_path(&random), NULL));
        size_t present = 0;
        EXPECT_OK(tern_hashtable_find_many(f.worker, table, all, KEYS, any_path(&random), seen,
                                           found, &present));
        CU_ASSERT_EQUAL(present, KEYS);
        for (uint64_t k = 0; k < KEYS; k++)
            CU_ASSERT(seen[k][0] % 64 < f.size && is_value(seen[k], 16, k, seen[k][0]));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(
        tern_hashtable_find_many(f.worker, table, all, KEYS, any_path(&random), seen, NULL, NULL));
    for (uint64_t k = 0; k < KEYS; k++)
        CU_ASSERT_EQUAL(seen[k][0] / 64, (COUNT - 1 - k) / KEYS);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* A table that cannot hold all: what was refused is not there, everything else is. */
static void full_is_exact(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { CAPACITY = 16, KEYS = 200 };
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        tern_hashtable *table = NULL;
        EXPECT_OK(tern_hashtable_create(
            f.worker,
            &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = CAPACITY},
            &table));
        static uint64_t keys[KEYS], values[KEYS];
        static unsigned char found[KEYS];
        size_t stored = 0, present = 0;
        for (uint64_t k = 0; k < KEYS; k++) {
            keys[k] = k;
            values[k] = k + 1000;
        }
        if (f.rank == 0) {
            EXPECT(TERN_ERR_FULL,
                   tern_hashtable_insert_many(f.worker, table, keys, values, KEYS, path, &stored));
            EXPECT_DETAIL("capacity");
            CU_ASSERT(stored >= CAPACITY && stored < KEYS);
            memset(values, 0, sizeof values);
            EXPECT_OK(tern_hashtable_find_many(f.worker, table, keys, KEYS, path, values, found,
                                               &present));
            CU_ASSERT_EQUAL(present, stored);
            for (uint64_t k = 0; k < KEYS; k++)
                CU_ASSERT_EQUAL(values[k], found[k] ? k + 1000 : 0);
        }
        uint64_t total = total_keys(&f, table);
        CU_ASSERT(f.rank > 0 || total == stored);
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    }
    fixture_close(&f);
}

static void counters_are_found(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 300 };
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = KEYS},
        &table));
    static uint64_t keys[2 * KEYS], counts[2 * KEYS];
    static unsigned char found[2 * KEYS];
    size_t present = 0;
    for (uint64_t k = 0; k < 2 * KEYS; k++)
        keys[k] = k;
    uint64_t random = fixture_seed(&f, 4);
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, KEYS, f.rank + 1,
                                      TERN_WRITE_ONLY | any_path(&random), NULL));
    EXPECT_OK(tern_barrier(f.worker));
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        memset(counts, 0, sizeof counts);
        EXPECT_OK(tern_hashtable_find_many(f.worker, table, keys, 2 * KEYS,
                                           any_reader(&random) | path, counts, found, &present));
        CU_ASSERT_EQUAL(present, KEYS);
        for (uint64_t k = 0; k < 2 * KEYS; k++)
            CU_ASSERT(found[k] == (k < KEYS) &&
                      counts[k] == (k < KEYS ? f.size * (f.size + 1) / 2 : 0));
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* A batch of adds that is put in the order of the table's memory first, on a table large enough. */
static void large_batches_of_adds(void) {
    fixture f;
    enum { ADDS = 30000, KEYS = 4000, CAPACITY = 720000 };
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)64 << 20;
    if (!fixture_open(&f, &config))
        return;
    tern_hashtable *table = NULL;
    if (!fixture_all_direct(&f)) { /* where it is not done */
        fixture_close(&f);
        return;
    }
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = CAPACITY},
        &table));
    static uint64_t keys[ADDS], sums[KEYS], counts[KEYS], all[64 * KEYS];
    uint64_t random = fixture_seed(&f, 7);
    size_t added = 0, present = 0;
    memset(sums, 0, sizeof sums);
    for (uint64_t i = 0; i < ADDS; i++) {
        keys[i] = below(&random, KEYS);
        sums[keys[i]] += 3;
    }
    EXPECT_OK(
        tern_hashtable_add_many(f.worker, table, keys, ADDS, 3, TERN_WRITE_ONLY | rma, &added));
    CU_ASSERT_EQUAL(added, ADDS);
    fixture_share(&f, sums, sizeof sums, all);
    for (uint64_t k = 0; k < KEYS; k++) {
        keys[k] = k;
        for (uint32_t r = 1; r < f.size; r++)
            all[k] += all[r * KEYS + k];
    }
    memset(counts, 0, sizeof counts);
    EXPECT_OK(tern_hashtable_find_many(f.worker, table, keys, KEYS, TERN_READ_ONLY | rma, counts,
                                       NULL, &present));
    CU_ASSERT(memcmp(counts, all, sizeof counts) == 0);
    CU_ASSERT_EQUAL(total_keys(&f, table), present);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Draws one of KEYS numbers, of which few are most. */
static uint64_t draw_skewed(uint64_t *random, uint64_t keys) {
    return below(random, below(random, below(random, keys) + 1) + 1);
}

static void check_skewed_adds(fixture *f, tern_hashtable *table, const uint64_t *keys, size_t count,
                              tern_flags path) {
    enum { DISTINCT = 64 };
    uint64_t numbers[DISTINCT], sums[DISTINCT] = {0}, counts[DISTINCT] = {0};
    static uint64_t all[64 * DISTINCT];
    tern_stats before, after;
    size_t added = 0;
    tern_stats_get(f->worker, &before);
    EXPECT_OK(tern_hashtable_add_many(f->worker, table, keys, count, 3, path, &added));
    tern_stats_get(f->worker, &after);
    CU_ASSERT_EQUAL(added, count);
    /* One by one they take a call for each 512 keys, 29 to the other one of 2 ranks. */
    CU_ASSERT(path == rma || after.calls_sent - before.calls_sent <= 6 * (f->size - 1));
    for (size_t i = 0; i < count; i++)
        sums[keys[i]] += 3;
    fixture_share(f, sums, sizeof sums, all);
    for (uint64_t k = 0; k < DISTINCT; k++) {
        numbers[k] = k;
        for (uint32_t r = 1; r < f->size; r++)
            all[k] += all[r * DISTINCT + k];
    }
    EXPECT_OK(tern_hashtable_find_many(f->worker, table, numbers, DISTINCT, TERN_READ_ONLY | rma,
                                       counts, NULL, NULL));
    CU_ASSERT(memcmp(counts, all, sizeof counts) == 0);
}

/* Equal keys of a batch are sent once: counts, values and what is refused are as if they were not.
 */
static void few_keys_are_most(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { COUNT = 30000, DISTINCT = 64, CAPACITY = 16, LONE = 250 };
    static uint64_t keys[COUNT], values[COUNT], last[DISTINCT];
    uint64_t random = fixture_seed(&f, 11), seen[LONE];
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        const size_t count = path == rma ? COUNT / 50 : COUNT;
        tern_hashtable *counters = NULL, *table = NULL, *small = NULL;
        tern_hashtable_options options = {.key_bytes = 8, .counter = 1, .capacity = DISTINCT};
        EXPECT_OK(tern_hashtable_create(f.worker, &options, &counters));
        options.capacity = CAPACITY;
        EXPECT_OK(tern_hashtable_create(f.worker, &options, &small));
        options = (tern_hashtable_options){
            .key_bytes = 8, .value_bytes = 8, .capacity = (size_t)DISTINCT * f.size};
        EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
        for (size_t i = 0; i < count; i++)
            keys[i] = draw_skewed(&random, DISTINCT);
        check_skewed_adds(&f, counters, keys, count, path);
        memset(last, 0, sizeof last);
        for (size_t i = 0; i < count; i++) {
            values[i] = last[keys[i]] = i + 1;
            keys[i] += (uint64_t)DISTINCT * f.rank;
        }
        size_t stored = 0, present = 0, added = 0;
        EXPECT_OK(tern_hashtable_insert_many(f.worker, table, keys, values, count, path, &stored));
        CU_ASSERT_EQUAL(stored, count);
        for (uint64_t k = 0; k < DISTINCT; k++)
            keys[k] = k + (uint64_t)DISTINCT * f.rank;
        memset(seen, 0, sizeof seen);
        EXPECT_OK(
            tern_hashtable_find_many(f.worker, table, keys, DISTINCT, path, seen, NULL, NULL));
        CU_ASSERT(memcmp(seen, last, sizeof last) == 0);
        if (f.rank == 0) {
            for (size_t i = 0; i < count; i++)
                keys[i] = i / 2 % LONE;
            uint64_t sum = 0;
            EXPECT(TERN_ERR_FULL,
                   tern_hashtable_add_many(f.worker, small, keys, count, 5, path, &added));
            for (uint64_t k = 0; k < LONE; k++)
                keys[k] = k;
            memset(seen, 0, sizeof seen);
            EXPECT_OK(
                tern_hashtable_find_many(f.worker, small, keys, LONE, path, seen, NULL, &present));
            for (uint64_t k = 0; k < LONE; k++)
                sum += seen[k];
            CU_ASSERT(present >= CAPACITY && present < LONE && sum == 5 * added);
        }
        EXPECT_OK(tern_hashtable_destroy(f.worker, small));
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
        EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    }
    fixture_close(&f);
}

/* The largest insert that fits a message, and one that is a word larger. */
static void auto_at_the_limit_of_a_ring(void) {
    enum { LARGEST = 4096 / 2 - 64 - 16 - 8 - 8 };
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)16 << 20;
    config.ring_size = 4096;
    if (!fixture_open(&f, &config))
        return;
    for (size_t less = 0; less <= 16; less += 8) {
        tern_hashtable *table = NULL;
        static char value[LARGEST], found[LARGEST];
        const size_t bytes = LARGEST - less;
        EXPECT_OK(tern_hashtable_create(
            f.worker,
            &(tern_hashtable_options){.key_bytes = 8, .value_bytes = bytes, .capacity = 4 * f.size},
            &table));
        uint64_t key = number_owned_by(table, (f.rank + 1) % f.size, 100 * f.rank);
        size_t stored = 0, present = 0;
        make_value(value, bytes, key, less);
        EXPECT(less > 0 ? TERN_OK : TERN_ERR_UNSUPPORTED,
               tern_hashtable_insert_many(f.worker, table, &key, value, 1, call, &stored));
        CU_ASSERT_EQUAL(stored, less > 0);
        EXPECT(less > 0 ? TERN_OK : TERN_ERR_UNSUPPORTED,
               tern_hashtable_insert(f.worker, table, &key, value, call, NULL));
        EXPECT_OK(tern_hashtable_insert_many(f.worker, table, &key, value, 1, TERN_AUTO, &stored));
        CU_ASSERT_EQUAL(stored, 1);
        EXPECT_OK(
            tern_hashtable_find_many(f.worker, table, &key, 1, TERN_AUTO, found, NULL, &present));
        CU_ASSERT(present == 1 && memcmp(value, found, bytes) == 0);
        EXPECT_OK(tern_barrier(f.worker));
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    }
    fixture_close(&f);
}

/* The program has all calls under way: no batch by call, and all of them by the way that is left.
 */
static void all_calls_are_under_way(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 40 };
    tern_hashtable *table = NULL, *counters = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 1000},
        &table));
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 1000},
        &counters));
    tern_request held[TERN_CALL_REQUESTS] = {0};
    const uint32_t other = (f.rank + 1) % f.size;
    uint64_t keys[KEYS], values[KEYS], found[KEYS];
    size_t there = 77;
    for (uint64_t i = 0; i < KEYS; i++)
        values[i] = keys[i] =
            number_owned_by(table, other, i > 0 ? keys[i - 1] + 1 : 9999 * f.rank);
    start_all_calls(&f, other, held);
    if (f.size > 1) {
        EXPECT(TERN_ERR_AGAIN,
               tern_hashtable_insert_many(f.worker, table, keys, values, KEYS, call, &there));
        CU_ASSERT_EQUAL(there, 0);
        EXPECT(TERN_ERR_AGAIN,
               tern_hashtable_find_many(f.worker, table, keys, KEYS, call, found, NULL, &there));
    }
    EXPECT_OK(tern_hashtable_insert_many(f.worker, table, keys, values, KEYS, TERN_AUTO, &there));
    CU_ASSERT_EQUAL(there, KEYS);
    EXPECT_OK(
        tern_hashtable_find_many(f.worker, table, keys, KEYS, TERN_AUTO, found, NULL, &there));
    CU_ASSERT(there == KEYS && memcmp(values, found, sizeof found) == 0);
    EXPECT_OK(tern_hashtable_add_many(f.worker, counters, keys, KEYS, 1, TERN_AUTO, &there));
    CU_ASSERT_EQUAL(there, KEYS);
    wait_for_all_calls(&f, held);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    EXPECT_OK(tern_hashtable_destroy(f.worker, counters));
    fixture_close(&f);
}

static struct {
    tern_hashtable *table;
    tern_status insert[2], find[2];
} handled;

static tern_status use_batches_in_handler(tern_call_info *info, const void *arguments,
                                          size_t bytes) {
    uint64_t key = 1, value = 2;
    (void)arguments, (void)bytes;
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        handled.insert[path == TERN_BY_CALL] =
            tern_hashtable_insert_many(info->worker, handled.table, &key, &value, 1, path, NULL);
        handled.find[path == TERN_BY_CALL] = tern_hashtable_find_many(
            info->worker, handled.table, &key, 1, path, &value, NULL, NULL);
    }
    return TERN_OK;
}
TERN_FUNCTION(use_batches_in_handler)

static void in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 10},
        &handled.table));
    EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){f.rank, 0},
                               &use_batches_in_handler_function, NULL, 0, NULL, 0, NULL));
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        CU_ASSERT_EQUAL(handled.insert[path == TERN_BY_CALL], TERN_ERR_STATE);
        CU_ASSERT_EQUAL(handled.find[path == TERN_BY_CALL], TERN_ERR_STATE);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, handled.table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"arguments_are_checked", arguments_are_checked},
        {"random_batches", random_batches},
        {"small_rings", small_rings},
        {"all_write_the_same_keys", all_write_the_same_keys},
        {"full_is_exact", full_is_exact},
        {"counters_are_found", counters_are_found},
        {"large_batches_of_adds", large_batches_of_adds},
        {"few_keys_are_most", few_keys_are_most},
        {"auto_at_the_limit_of_a_ring", auto_at_the_limit_of_a_ring},
        {"all_calls_are_under_way", all_calls_are_under_way},
        {"in_a_handler", in_a_handler},
    };
    return tern_test_main(argc, argv, "hashtable_batch", tests, sizeof tests / sizeof tests[0]);
}
