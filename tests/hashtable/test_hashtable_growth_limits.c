// tern-test: transports

/* Hash tables that grow, at their limits: no memory for more, what stands half done while keys are
 * moved, keys and values of all sizes, modifiers, tables for calls only. */

#include "bucket_tools.h"

#include <stddef.h>
#include <stdlib.h>

#include "hashtable/batch/batch.h"
#include "hashtable/growth/growth.h"
#include "tern/hashtable_batch.h"
#include "tern/hashtable_modify.h"

static const tern_flags rw = TERN_READ_WRITE;

static tern_hashtable *make_of(fixture *f, tern_hashtable_options options) {
    tern_hashtable *table = NULL;
    options.grow = 1;
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

static void end(fixture *f, tern_hashtable *table) {
    EXPECT_OK(tern_barrier(f->worker));
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

/* A segment holds only so much: then inserts are refused, and nothing else changes. */
static void a_segment_is_full(tern_flags via) {
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)4 << 20;
    if (!fixture_open(&f, &config))
        return;
    enum { VALUE = 1000, MOST = 12000 };
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = VALUE, .capacity = 8});
    static unsigned char value[VALUE];
    uint64_t stored = 0, refused = 0, wrong = 0;
    tern_segment_info before, after;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < MOST && refused < 20; i++) {
        uint64_t key = i * f.size + f.rank;
        make_value(value, VALUE, key, 1);
        tern_status status = tern_hashtable_insert(f.worker, table, &key, value, via, NULL);
        if (status == TERN_OK) {
            stored++;
            continue;
        }
        refused++;
        wrong += status != TERN_ERR_FULL;
        EXPECT_DETAIL("TERN_SEGMENT_SIZE");
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f.worker, table, &key, via, value));
    }
    CU_ASSERT_EQUAL(refused, 20);
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
    EXPECT_OK(tern_hashtable_insert(f.worker, table, &key, value, via, NULL));
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
        tern_hashtable *table =
            make_of(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 1});
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

static void sizes(size_t key_bytes, size_t value_bytes, int call_only, uint64_t salt) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make_of(&f, (tern_hashtable_options){.key_bytes = key_bytes,
                                                                 .value_bytes = value_bytes,
                                                                 .capacity = 3,
                                                                 .call_only = call_only});
    static unsigned char key[KEY_MAX], value[VALUE_MAX];
    uint64_t random = fixture_seed(&f, salt), each = (uint64_t)fixture_times(&f, 400), wrong = 0;
    each = each > 60 && key_bytes == 1 ? 60 : each;
    each = each * value_bytes > 400000 ? 400000 / value_bytes : each;
    const bool calls = call_only || value_bytes <= TERN_RESULT_MAX;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < each; i++) {
        uint64_t number = i * f.size + f.rank;
        tern_flags via = call_only ? TERN_BY_CALL : calls ? any_via(&random) : TERN_BY_RMA;
        make_key(key, key_bytes, number);
        make_value(value, value_bytes, number, i);
        EXPECT_OK(tern_hashtable_insert(f.worker, table, key, value, via, NULL));
        uint64_t k = below(&random, i + 1);
        make_key(key, key_bytes, k * f.size + f.rank);
        EXPECT_OK(tern_hashtable_find(f.worker, table, key, via, value));
        wrong += !is_value(value, value_bytes, k * f.size + f.rank, k);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(total_keys(&f, table), each * f.size);
    end(&f, table);
    fixture_close(&f);
}

static void all_sizes(void) {
    sizes(1, 0, 0, 1);
    sizes(19, 5, 0, 2);
    sizes(8, 100, 1, 3);
    sizes(1024, 30, 0, 4);
    sizes(8, 9000, 0, 5);
}

static tern_status count_up(tern_modify_info *info, void *value) {
    uint64_t number;
    memcpy(&number, value, 8);
    number++;
    memcpy(value, &number, 8);
    (void)info;
    return TERN_OK;
}
TERN_MODIFIER(count_up)

/* All ranks count the same keys up, by the modifier, while the table grows. */
static void modifiers_lose_nothing(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 1});
    uint64_t keys = (uint64_t)fixture_times(&f, 1500), wrong = 0, value = 0;
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t i = 0; i < 2 * keys; i++) {
        uint64_t key = (i + 5 * f.rank) % keys;
        EXPECT_OK(tern_hashtable_modify(f.worker, table, &key, &count_up_modifier, NULL, 0,
                                        TERN_ABSENT_INSERT, rw, NULL, 0, NULL, NULL));
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t key = 0; key < keys; key++)
        wrong += tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &value) != TERN_OK ||
                 value != 2 * f.size;
    CU_ASSERT_EQUAL(wrong, 0);
    end(&f, table);
    fixture_close(&f);
}

/* Until the owner has grown, for a while at most. */
static bool grew(fixture *f, const tern_hashtable *table, double seconds) {
    for (double limit = MPI_Wtime() + seconds; MPI_Wtime() < limit;) {
        if (tern_table_part_of(table, f->rank)->generation > 0)
            return true;
        tern_progress(f->worker);
    }
    return false;
}

/* One rank holds the lock of a key in the old array: its owner moves all before it and waits there,
 * and nothing is missing meanwhile. */
static void a_lock_is_held(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 40 };
    if (f.size == 1) {
        tern_test_skip("one rank does not wait for itself");
        fixture_close(&f);
        return;
    }
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .value_bytes = 8, .capacity = 8});
    uint32_t owner = 0, holder = f.size - 1;
    uint64_t keys[KEYS], missing = 0, value, seen = 0;
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = number_owned_by(table, owner, i == 0 ? 0 : keys[i - 1] + 1);
    uint64_t hash = hash_of(table, keys);
    const uint64_t locked = tern_state_locked(hash, holder), there = tern_state_taken(hash, holder);
    if (f.rank == holder) {
        EXPECT_OK(tern_hashtable_insert(f.worker, table, keys, keys, TERN_BY_RMA, NULL));
        EXPECT_OK(tern_atomic_cas(f.worker, bucket_of(table, keys), there, locked, &seen));
        CU_ASSERT_EQUAL(seen, there);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == holder)
        for (size_t i = 1; i < KEYS / 2; i++)
            EXPECT_OK(
                tern_hashtable_insert(f.worker, table, &keys[i], &keys[i], TERN_BY_RMA, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    for (size_t i = 0; i < KEYS / 2; i++)
        missing += tern_hashtable_find(f.worker, table, &keys[i], TERN_BY_RMA, &value) != TERN_OK;
    CU_ASSERT_EQUAL(missing, 0);
    if (f.rank == owner)
        CU_ASSERT(!grew(&f, table, 0.05));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == holder) {
        EXPECT_OK(tern_atomic_cas(f.worker, bucket_of(table, keys), locked,
                                  tern_state_unlocked(hash, false), &seen));
        CU_ASSERT_EQUAL(seen, locked);
    }
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == owner)
        CU_ASSERT(grew(&f, table, TERN_TEST_PATIENCE));
    for (size_t i = KEYS / 2; i < KEYS; i++)
        EXPECT_OK(tern_hashtable_insert(f.worker, table, &keys[i], &keys[i], TERN_AUTO, NULL));
    for (size_t i = 0; i < KEYS; i++)
        missing += tern_hashtable_find(f.worker, table, &keys[i], TERN_AUTO, &value) != TERN_OK;
    CU_ASSERT_EQUAL(missing, 0);
    CU_ASSERT_EQUAL(total_keys(&f, table), KEYS);
    end(&f, table);
    fixture_close(&f);
}

/* Keys that are put in order are met place by place. If all ranks put so many in order that a place
 * gets full before they come to the next one, probes get long there, and the part is not full. */
static void few_keys_are_put_in_order(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable_options options = {.key_bytes = 8, .counter = 1, .capacity = 100000};
    tern_hashtable *table = make_of(&f, options), *fixed = NULL;
    const uint64_t buckets = table->buckets * f.size, many = (size_t)1 << 30;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &fixed));
    CU_ASSERT(tern_regions_together(table, many) * f.size <= buckets / 16);
    CU_ASSERT(tern_regions_together(table, many) * f.size > buckets / 32);
    CU_ASSERT_EQUAL(tern_regions_together(fixed, many), TERN_REGION_KEYS);
    CU_ASSERT_EQUAL(tern_regions_together(table, 7), 7);
    EXPECT_OK(tern_hashtable_destroy(f.worker, fixed));
    end(&f, table);
    fixture_close(&f);
}

/* Counts rounds of progress that begin while a key waits because this rank's part is full. */
typedef struct full_watch {
    tern_task task;
    const unsigned char *wish;
    uint64_t full;
} full_watch;

static size_t look_at_wish(tern_worker *worker, tern_task *task) {
    full_watch *watch = (full_watch *)(void *)task;
    (void)worker;
    watch->full += __atomic_load_n(watch->wish, __ATOMIC_RELAXED) == TERN_WISH_NOW;
    return 0;
}

/* A batch of new keys moves keys as it goes on, and does not fill the part first: then each key
 * would look at all of its buckets. Each rank adds keys of its own. */
static void a_batch_pays_for_growth(void) {
    enum { CAPACITY = 4096, KEYS = 1 << 15 };
    static uint64_t keys[KEYS];
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table =
        make_of(&f, (tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = CAPACITY});
    full_watch watch = {.task.run = look_at_wish};
    watch.wish =
        tern_local(f.context, tern_anchor_place(table, f.rank, offsetof(tern_anchor, wish)));
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = number_owned_by(table, f.rank, i == 0 ? 0 : keys[i - 1] + 1);
    size_t added = 0;
    uint64_t count = 0;
    tern_task_add(f.context, &watch.task);
    EXPECT_OK(tern_hashtable_add_many(f.worker, table, keys, KEYS, 1, TERN_WRITE_ONLY | TERN_BY_RMA,
                                      &added));
    tern_task_remove(f.context, &watch.task);
    CU_ASSERT_EQUAL(added, KEYS);
    CU_ASSERT_EQUAL(watch.full, 0);
    EXPECT_OK(tern_hashtable_local_size(f.worker, table, &count));
    CU_ASSERT_EQUAL(count, KEYS);
    end(&f, table);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_segment_is_full_by_rma", a_segment_is_full_by_rma},
        {"a_segment_is_full_by_call", a_segment_is_full_by_call},
        {"memory_is_given_back", memory_is_given_back},
        {"all_sizes", all_sizes},
        {"modifiers_lose_nothing", modifiers_lose_nothing},
        {"a_lock_is_held", a_lock_is_held},
        {"few_keys_are_put_in_order", few_keys_are_put_in_order},
        {"a_batch_pays_for_growth", a_batch_pays_for_growth},
    };
    tern_doubt_ns = UINT64_MAX; /* buckets are locked by hand, for long */
    return tern_test_main(argc, argv, "hashtable_growth_limits", tests,
                          sizeof tests / sizeof tests[0]);
}
