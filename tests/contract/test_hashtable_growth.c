// tern-test: transports

/* Hash tables that grow (test_hashtable_model.c has models of them): from next to nothing to many
 * times what they began with, while all ranks work on them, by each path, and nothing is lost,
 * there twice or counted twice; also to the end of their segment. */

#include "table_tools.h"

#include <stdlib.h>

#include "tern/hashtable.h"

static tern_hashtable *make(fixture *f, size_t key_bytes, size_t value_bytes, bool counter,
                            uint64_t capacity) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = key_bytes,
                                      .value_bytes = value_bytes,
                                      .counter = counter,
                                      .capacity = capacity,
                                      .grow = 1};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

static void options_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8, .capacity = 1, .grow = 2};
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_create(f.worker, &options, &table));
    EXPECT_DETAIL("grow is 2");
    options.grow = f.rank == f.size - 1;
    EXPECT(f.size == 1 ? TERN_OK : TERN_ERR_MISMATCH,
           tern_hashtable_create(f.worker, &options, &table));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Keys of one walk, counted by number. */
typedef struct census {
    uint64_t keys;    /* numbers below that are expected */
    uint8_t *times;   /* each was met */
    uint64_t strange; /* keys other than these */
    uint64_t sum;     /* of counters */
} census;

static int count_key(const void *key, const void *value, void *argument) {
    census *c = argument;
    uint64_t number, counter;
    memcpy(&number, key, 8);
    memcpy(&counter, value, 8);
    if (number < c->keys)
        c->times[number]++;
    else
        c->strange++;
    c->sum += counter;
    return 0;
}

/* Collective: every rank sees each key once, and size says how many there are. wanted: by number,
 * whether the key is there. Values have 8 bytes or more. */
static void each_key_once(fixture *f, tern_hashtable *table, const uint8_t *wanted, uint64_t keys) {
    uint64_t size = 0, there = 0, wrong = 0;
    census c = {keys, calloc(keys, 1), 0, 0};
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_for_each_anywhere(f->worker, table, count_key, &c));
    for (uint64_t k = 0; k < keys; k++) {
        wrong += c.times[k] != wanted[k];
        there += wanted[k];
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(c.strange, 0);
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_size(f->worker, table, &size));
    CU_ASSERT_EQUAL(size, there);
    CU_ASSERT_EQUAL(total_keys(f, table), there);
    free(c.times);
}

/* All ranks insert the same keys, each in an order of its own: one of them is the first. Whatever
 * has been inserted is found from then on. */
static void one_insert_is_the_first(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t keys = (uint64_t)fixture_times(&f, 4000), random = fixture_seed(&f, 4), missed = 0;
    tern_hashtable *table = make(&f, 8, 8, false, 4);
    uint8_t *first = calloc(keys, 1), *all = calloc(keys * f.size, 1), *wanted = malloc(keys);
    uint64_t start = below(&random, keys);
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t number = (start + i) % keys, value = number ^ 99, found = 0;
        int existed = 77;
        EXPECT_OK(tern_hashtable_insert_new(f.worker, table, &number, &value, any_path(&random),
                                            &existed));
        first[number] = existed == 0;
        number = (start + below(&random, i + 1)) % keys;
        missed +=
            tern_hashtable_find(f.worker, table, &number, any_path(&random), &found) != TERN_OK ||
            found != (number ^ 99);
    }
    CU_ASSERT_EQUAL(missed, 0);
    fixture_share(&f, first, keys, all);
    uint64_t wrong = 0;
    for (uint64_t k = 0; k < keys; k++) {
        int firsts = 0;
        for (uint32_t r = 0; r < f.size; r++)
            firsts += all[r * keys + k];
        wrong += firsts != 1;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    memset(wanted, 1, keys);
    each_key_once(&f, table, wanted, keys);
    free(first);
    free(all);
    free(wanted);
    end(&f, table);
    fixture_close(&f);
}

/* A few counters that all ranks add to, some by compare and swap, while others come and go. */
static void every_count_once(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { HOT = 3 };
    uint64_t each = (uint64_t)fixture_times(&f, 4000), random = fixture_seed(&f, 5);
    tern_hashtable *table = make(&f, 8, 0, true, 2);
    uint8_t *seen = calloc(each * f.size, 1), *all = calloc(each * f.size, f.size);
    uint64_t counted = 0, wrong = 0, total = 0, counts[64];
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < each; i++) {
        uint64_t key = HOT + i * f.size + f.rank, before = UINT64_MAX;
        EXPECT_OK(tern_hashtable_add(f.worker, table, &key, i, any_path(&random), &before));
        CU_ASSERT_EQUAL(before, 0);
        if (below(&random, 4) == 0) {
            EXPECT_OK(tern_hashtable_erase(f.worker, table, &key, any_path(&random)));
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, i, any_path(&random), &before));
            CU_ASSERT_EQUAL(before, 0);
        }
        key = 0;
        if (below(&random, 3) > 0) {
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, any_path(&random), &before));
        } else {
            uint64_t expected = 0;
            tern_status status =
                tern_hashtable_find(f.worker, table, &key, any_path(&random), &expected);
            if (status == TERN_ERR_NOT_FOUND)
                continue;
            EXPECT_OK(tern_hashtable_compare_swap(f.worker, table, &key, expected, expected + 1,
                                                  any_path(&random), &before));
            if (before != expected)
                continue;
        }
        counted++;
        CU_ASSERT(before < each * f.size);
        if (before < each * f.size)
            seen[before]++;
    }
    EXPECT_OK(tern_barrier(f.worker));
    fixture_share(&f, seen, each * f.size, all);
    fixture_share(&f, &counted, 8, counts);
    for (uint32_t r = 0; r < f.size; r++)
        total += counts[r];
    for (uint64_t b = 0; b < each * f.size; b++) {
        int times = 0;
        for (uint32_t r = 0; r < f.size; r++)
            times += all[r * each * f.size + b];
        wrong += times != (b < total);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (uint64_t i = 0; i < each; i++) {
        uint64_t key = HOT + i * f.size + f.rank, count = 99;
        wrong += tern_hashtable_find(f.worker, table, &key, any_reader(&random) | any_path(&random),
                                     &count) != TERN_OK ||
                 count != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(seen);
    free(all);
    end(&f, table);
    fixture_close(&f);
}

/* Batches of adds with repeats, by both paths, and a buffer: the sum is exact. */
static void batches_and_buffers_of_counts(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { BATCH = 500 };
    uint64_t times = (uint64_t)fixture_times(&f, 60), random = fixture_seed(&f, 6), refused = 9;
    uint64_t keys[BATCH], mine = 0, sums[64], total = 0, most = times * 20 * f.size;
    tern_hashtable *table = make(&f, 8, 0, true, 10);
    tern_hashtable_buffer *buffer = NULL;
    EXPECT_OK(tern_hashtable_buffer_create(f.worker, table, 0, &buffer));
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < times; i++) {
        size_t count = below(&random, BATCH), added = 0;
        for (size_t k = 0; k < count; k++)
            keys[k] = below(&random, (i + 1) * most / times);
        EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, count, 3,
                                          any_writer(&random) | any_path(&random), &added));
        CU_ASSERT_EQUAL(added, count);
        mine += 3 * count;
        for (size_t k = 0; k < count / 8; k++)
            EXPECT_OK(tern_hashtable_buffer_add(f.worker, buffer, &keys[k], 5));
        mine += 5 * (count / 8);
    }
    EXPECT_OK(tern_hashtable_buffer_destroy(f.worker, buffer, &refused));
    CU_ASSERT_EQUAL(refused, 0);
    EXPECT_OK(tern_barrier(f.worker));
    census c = {most, calloc(most, 1), 0, 0};
    EXPECT_OK(tern_hashtable_for_each_anywhere(f.worker, table, count_key, &c));
    fixture_share(&f, &mine, 8, sums);
    for (uint32_t r = 0; r < f.size; r++)
        total += sums[r];
    CU_ASSERT_EQUAL(c.sum, total);
    uint64_t twice = 0;
    for (uint64_t k = 0; k < most; k++)
        twice += c.times[k] > 1;
    CU_ASSERT_EQUAL(twice + c.strange, 0);
    free(c.times);
    end(&f, table);
    fixture_close(&f);
}

/* Few keys at a time, ever new ones: what is erased does not take room for long. */
static void keys_come_and_go(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { LIVE = 20 };
    uint64_t random = fixture_seed(&f, 8), times = (uint64_t)fixture_times(&f, 2500), wrong = 0;
    for (int counter = 0; counter < 2; counter++) {
        const size_t without = in_use(&f);
        tern_hashtable *table = make(&f, 8, counter ? 0 : 8, counter, LIVE * f.size);
        const size_t first = in_use(&f) - without;
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t i = 0; i < times; i++) {
            uint64_t key = i * f.size + f.rank;
            if (counter)
                EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, any_path(&random), NULL));
            else
                EXPECT_OK(
                    tern_hashtable_insert(f.worker, table, &key, &i, any_path(&random), NULL));
            key -= LIVE * f.size;
            if (i >= LIVE)
                wrong += tern_hashtable_erase(f.worker, table, &key, any_path(&random)) != TERN_OK;
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(total_keys(&f, table), (times < LIVE ? times : LIVE) * f.size);
        uint64_t count = 0; /* when it is told, old arrays are gone */
        EXPECT_OK(tern_hashtable_size(f.worker, table, &count));
        CU_ASSERT(in_use(&f) - without <= 64 * first);
        end(&f, table);
    }
    fixture_close(&f);
}

static void a_grown_table_is_saved(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t each = (uint64_t)fixture_times(&f, 2000), wrong = 0;
    char path[64];
    snprintf(path, sizeof path, "grown.%d.table", tern_test_size());
    tern_hashtable *table = make(&f, 8, 8, false, 1), *loaded = NULL;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < each; i++) {
        uint64_t key = i * f.size + f.rank;
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, &i, TERN_AUTO, NULL));
    }
    EXPECT_OK(tern_hashtable_save(f.worker, table, path, NULL, 0));
    const tern_hashtable_options options = {.grow = 1};
    EXPECT_OK(tern_hashtable_load(f.worker, path, &options, NULL, &loaded));
    for (uint64_t i = 0; i < 4 * each; i++) {
        uint64_t key = i * f.size + f.rank, value = UINT64_MAX;
        if (i < each)
            wrong += tern_hashtable_find(f.worker, loaded, &key, TERN_AUTO, &value) != TERN_OK ||
                     value != i;
        else
            EXPECT_OK(tern_hashtable_insert(f.worker, loaded, &key, &i, TERN_AUTO, NULL));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(total_keys(&f, loaded), 4 * each * f.size);
    end(&f, table);
    end(&f, loaded);
    if (f.rank == 0)
        CU_ASSERT_EQUAL(remove(path), 0);
    fixture_close(&f);
}

/* A large array takes many rounds of progress to be cleared, in which a collective call may come.
 */
static void a_large_array_is_on_its_way(void) {
    enum { VALUE = 4096, KEYS = 400, STEPS = 35, STEP = 20 };
    static char value[VALUE];
    fixture f;
    tern_hashtable *table;
    tern_config config;
    if (!EXPECT_OK(tern_config_init(&config)))
        return;
    config.segment_size = (size_t)32 << 20;
    if (!fixture_open_on(&f, MPI_COMM_WORLD, &config))
        return;
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = VALUE, .capacity = (uint64_t)KEYS * f.size, .grow = 1};
    if (EXPECT_OK(tern_hashtable_create(f.worker, &options, &table))) {
        for (uint64_t step = 0, count; step < STEPS; step++) {
            for (uint64_t i = 0; i < STEP; i++) {
                uint64_t key = (step * STEP + i) * f.size + f.rank;
                EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, TERN_BY_RMA, NULL));
            }
            tern_progress(f.worker);
            EXPECT_OK(tern_hashtable_size(f.worker, table, &count));
            CU_ASSERT_EQUAL(count, (step + 1) * STEP * f.size);
        }
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    }
    fixture_close(&f);
}

/* A segment holds only so much: then inserts are refused, and nothing else changes. */
static void a_segment_is_full(tern_flags path) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)2 << 20;
    if (!fixture_open(&f, &config))
        return;
    enum { VALUE = 3000, MOST = 4000 };
    tern_hashtable *table = make(&f, 8, VALUE, false, 8);
    static unsigned char value[VALUE];
    uint64_t stored = 0, refused = 0, wrong = 0;
    tern_segment_info before, after;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < MOST && refused < 5; i++) {
        uint64_t key = i * f.size + f.rank;
        make_value(value, VALUE, key, 1);
        tern_status status = tern_hashtable_insert(f.worker, table, &key, value, path, NULL);
        if (status == TERN_OK) {
            stored++;
            continue;
        }
        refused++;
        wrong += status != TERN_ERR_FULL;
        EXPECT_DETAIL("TERN_SEGMENT_SIZE");
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, value));
    }
    CU_ASSERT_EQUAL(refused, 5);
    CU_ASSERT_EQUAL(wrong, 0);
    uint64_t sum = 0, all[64];
    EXPECT_OK(tern_barrier(f.worker));
    fixture_share(&f, &stored, 8, all);
    for (uint32_t r = 0; r < f.size; r++)
        sum += all[r];
    CU_ASSERT(sum > 8);
    CU_ASSERT_EQUAL(total_keys(&f, table), sum);
    tern_segment_get_info(f.context, &before);
    uint64_t size = 0;
    EXPECT_OK(tern_hashtable_size(f.worker, table, &size));
    CU_ASSERT_EQUAL(size, sum);
    tern_segment_get_info(f.context, &after);
    CU_ASSERT(after.in_use <= before.in_use); /* old arrays are gone, at the latest now */
    EXPECT_OK(tern_hashtable_clear(f.worker, table));
    uint64_t key = f.rank;
    EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, path, NULL));
    end(&f, table);
    fixture_close(&f);
}

static void a_segment_is_full_by_rma(void) { a_segment_is_full(TERN_BY_RMA); }

static void a_segment_is_full_by_call(void) { a_segment_is_full(TERN_BY_CALL); }

/* What a table takes in the segment is given back. */
static void memory_is_given_back(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_segment_info before, after;
    tern_segment_get_info(f.context, &before);
    for (int round = 0; round < 3; round++) {
        tern_hashtable *table = make(&f, 8, 8, false, 1);
        EXPECT_OK(tern_barrier(f.worker));
        for (int i = fixture_times(&f, 1000); i > 0; i--) {
            uint64_t key = (uint64_t)i * f.size + f.rank;
            EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, &key, TERN_AUTO, NULL));
        }
        end(&f, table);
    }
    EXPECT_OK(tern_barrier(f.worker));
    tern_segment_get_info(f.context, &after);
    CU_ASSERT_EQUAL(after.in_use, before.in_use);
    fixture_close(&f);
}

static tern_status count_up(tern_hashtable_modify_info *info, void *value) {
    uint64_t number;
    memcpy(&number, value, 8);
    number++;
    memcpy(value, &number, 8);
    (void)info;
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(count_up)

/* All ranks count the same keys up, by the modifier, while the table grows. */
static void modifiers_lose_nothing(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, 8, 8, false, 1);
    uint64_t keys = (uint64_t)fixture_times(&f, 1500), wrong = 0, value = 0;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < 2 * keys; i++) {
        uint64_t key = (i + 5 * f.rank) % keys;
        EXPECT_OK(tern_hashtable_modify(f.worker, table, &key, &count_up_modifier,
                                        &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, 0,
                                        NULL));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t key = 0; key < keys; key++)
        wrong += tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &value) != TERN_OK ||
                 value != 2 * f.size;
    CU_ASSERT_EQUAL(wrong, 0);
    end(&f, table);
    fixture_close(&f);
}

/* A part of fixed size was full, so an insert by call was refused. Once keys are erased there,
 * inserts by call find room without any other operation's help. */
static void calls_find_room_again(void) {
    enum { MOST = 4096 };
    const tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = 32};

    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    const uint32_t owner = f.size - 1;
    if (f.rank == 0) {
        static uint64_t keys[MOST];
        size_t count = 0;
        uint64_t key = 0;
        tern_status status = TERN_OK;
        while (status == TERN_OK && count < MOST) {
            key = number_owned_by(table, owner, key + 1);
            status = tern_hashtable_insert(f.worker, table, &key, &key, TERN_BY_CALL, NULL);
            keys[count] = key;
            count += status == TERN_OK;
        }
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        for (size_t i = 0; i < count; i++)
            EXPECT_OK(tern_hashtable_erase(f.worker, table, &keys[i], TERN_BY_CALL));
        const double end = MPI_Wtime() + TERN_TEST_PATIENCE;
        while (status == TERN_ERR_FULL && MPI_Wtime() < end)
            status = tern_hashtable_insert(f.worker, table, &key, &key, TERN_BY_CALL, NULL);
        CU_ASSERT_EQUAL(status, TERN_OK);
    }
    end(&f, table);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"options_are_checked", options_are_checked},
        {"one_insert_is_the_first", one_insert_is_the_first},
        {"every_count_once", every_count_once},
        {"batches_and_buffers_of_counts", batches_and_buffers_of_counts},
        {"keys_come_and_go", keys_come_and_go},
        {"a_grown_table_is_saved", a_grown_table_is_saved},
        {"a_large_array_is_on_its_way", a_large_array_is_on_its_way},
        {"a_segment_is_full_by_rma", a_segment_is_full_by_rma},
        {"a_segment_is_full_by_call", a_segment_is_full_by_call},
        {"memory_is_given_back", memory_is_given_back},
        {"modifiers_lose_nothing", modifiers_lose_nothing},
        {"calls_find_room_again", calls_find_room_again},
    };
    return tern_test_main(argc, argv, "hashtable_growth", tests, sizeof tests / sizeof tests[0]);
}
