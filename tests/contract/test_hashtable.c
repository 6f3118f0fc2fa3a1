// tern-test: transports

/* Hash table: options and arguments, limits, iteration, and the table as a whole. A model is in
 * test_hashtable_model.c, what races in test_hashtable_races.c, what it costs in
 * ../hashtable/test_hashtable_cost.c. */

#include "table_tools.h"

#include "tern/call.h"

static size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

static int memcmp_keys(const void *a, const void *b, size_t bytes, void *argument) {
    (void)argument;
    return memcmp(a, b, bytes) == 0;
}

static uint64_t hash_keys(const void *key, size_t bytes, void *argument) {
    (void)argument;
    return bytes + *(const unsigned char *)key;
}

static void options_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    static const struct {
        tern_hashtable_options options;
        tern_status status;
        const char *named;
    } bad[] = {
        {{.key_bytes = 0, .capacity = 1}, TERN_ERR_ARGUMENT, "key_bytes"},
        {{.key_bytes = 1025, .capacity = 1}, TERN_ERR_ARGUMENT, "key_bytes"},
        {{.key_bytes = 8, .value_bytes = 65537, .capacity = 1}, TERN_ERR_ARGUMENT, "value_bytes"},
        {{.key_bytes = 8, .counter = 2, .capacity = 1}, TERN_ERR_ARGUMENT, "counter"},
        {{.key_bytes = 8, .counter = 1, .value_bytes = 8, .capacity = 1},
         TERN_ERR_ARGUMENT,
         "value_bytes"},
        {{.key_bytes = 8}, TERN_ERR_ARGUMENT, "capacity"},
        {{.key_bytes = 8, .capacity = 1, .call_only = -1}, TERN_ERR_ARGUMENT, "call_only"},
        {{.key_bytes = 8, .value_bytes = 1025, .capacity = 1, .call_only = 1},
         TERN_ERR_UNSUPPORTED,
         "call_only"},
        {{.key_bytes = 8, .capacity = 1, .key_equal = memcmp_keys}, TERN_ERR_ARGUMENT, "key_hash"},
        {{.key_bytes = 8, .capacity = (uint64_t)1 << 36}, TERN_ERR_MEMORY, "TERN_SEGMENT_SIZE"},
        {{.key_bytes = 1024, .value_bytes = 65536, .capacity = UINT64_MAX},
         TERN_ERR_MEMORY,
         "TERN_SEGMENT_SIZE"},
    };
    size_t before = in_use(&f);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tern_hashtable *table = NULL;
        EXPECT(bad[i].status, tern_hashtable_create(f.worker, &bad[i].options, &table));
        EXPECT_DETAIL(bad[i].named);
        CU_ASSERT_PTR_NULL(table);
    }
    tern_hashtable *table = NULL;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_create(f.worker, NULL, &table));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_create(f.worker, &bad[0].options, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_create(NULL, &bad[0].options, &table));
    CU_ASSERT_EQUAL(in_use(&f), before);
    EXPECT_OK(tern_hashtable_destroy(f.worker, NULL));
    fixture_close(&f);
}

/* One rank at fault, or one that differs: the same kind of error on all. */
static void ranks_agree(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8, .capacity = 10};
    if (f.rank == f.size - 1)
        options.key_bytes = 2000;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_create(f.worker, &options, &table));
    EXPECT_DETAIL("key_bytes is 2000");
    if (f.size > 1) {
        const tern_hashtable_options usual = {.key_bytes = 8, .value_bytes = 8, .capacity = 10};
        tern_hashtable_options other[] = {usual, usual, usual, usual, usual, usual, usual};
        other[0].key_bytes = 9;
        other[1].value_bytes = 9;
        other[2].capacity = 11;
        other[3].call_only = 1;
        other[4].key_hash = hash_keys;
        other[5].key_hash = hash_keys;
        other[5].key_equal = memcmp_keys;
        other[6].key_owner = hash_keys;
        for (size_t i = 0; i < 7; i++) {
            const tern_hashtable_options *mine = f.rank == f.size - 1 ? &other[i] : &usual;
            EXPECT(TERN_ERR_MISMATCH, tern_hashtable_create(f.worker, mine, &table));
            EXPECT_DETAIL("tern_hashtable_create");
        }
    }
    CU_ASSERT_PTR_NULL(table);
    fixture_close(&f);
}

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
        w, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 10, .call_only = 1},
        &calls));
    EXPECT_OK(tern_hashtable_create(
        w, &(tern_hashtable_options){.key_bytes = 8, .value_bytes = 65536, .capacity = 10},
        &large));
    const tern_flags rma = TERN_BY_RMA, call = TERN_BY_CALL;
    uint64_t key = 1, out = 77;
    static char big[65536];
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert(NULL, values, &key, &key, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert(w, NULL, &key, &key, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert(w, values, NULL, &key, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_insert(w, values, &key, NULL, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find(w, values, &key, rma, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_add_many(w, counters, NULL, 1, 1, rma, NULL));
    EXPECT_OK(tern_hashtable_add_many(w, counters, NULL, 0, 1, rma, NULL));
    EXPECT_OK(tern_hashtable_add_many(w, counters, NULL, 0, 1, call, NULL));

    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_insert(w, values, &key, &key, TERN_READ_ONLY | rma, NULL));
    EXPECT_DETAIL("TERN_READ_ONLY");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_add(w, counters, &key, 1, TERN_READ_ONLY | call, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find(w, counters, &key, TERN_WRITE_ONLY | rma, &out));
    EXPECT_DETAIL("TERN_WRITE_ONLY");
    EXPECT(TERN_ERR_ARGUMENT,
           tern_hashtable_find(w, values, &key, TERN_WRITE_ONLY | TERN_READ_ONLY, &out));
    EXPECT_DETAIL("two promises");
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find(w, values, &key, rma | call, &out));
    EXPECT_DETAIL("TERN_BY_RMA and TERN_BY_CALL");
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_find(w, values, &key, 1u << 20, &out));
    EXPECT_DETAIL("0x100000");

    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert(w, counters, &key, &key, rma, NULL));
    EXPECT_DETAIL("tern_hashtable_add");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_add(w, values, &key, 1, rma, NULL));
    EXPECT_DETAIL("counter = 1");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_add_many(w, values, &key, 1, 1, rma, NULL));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_add(w, calls, &key, 1, rma, NULL));
    EXPECT_DETAIL("TERN_BY_CALL");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_find(w, calls, &key, rma, &out));
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_insert(w, large, &key, big, call, NULL));
    EXPECT_DETAIL("TERN_RING_SIZE");
    EXPECT(TERN_ERR_UNSUPPORTED, tern_hashtable_find(w, large, &key, call, big));
    EXPECT_DETAIL("TERN_BY_RMA");

    CU_ASSERT_EQUAL(tern_hashtable_owner(NULL, &key), UINT32_MAX);
    CU_ASSERT_EQUAL(tern_hashtable_owner(values, NULL), UINT32_MAX);
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_for_each(w, values, NULL, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_local_size(w, values, NULL));
    EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(w, counters, &key, rma, &out));
    CU_ASSERT_EQUAL(out, 77);
    CU_ASSERT_EQUAL(total_keys(&f, values) + total_keys(&f, counters), 0);
    EXPECT_OK(tern_hashtable_destroy(w, values));
    EXPECT_OK(tern_hashtable_destroy(w, counters));
    EXPECT_OK(tern_hashtable_destroy(w, calls));
    EXPECT_OK(tern_hashtable_destroy(w, large));
    CU_ASSERT_EQUAL(in_use(&f), 0);
    fixture_close(&f);
}

static void capacity_one(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 1}, &table));
    uint64_t key = 5, before = 99, count = 0;
    for (uint32_t turn = 0; turn < f.size; turn++) {
        if (turn == f.rank) {
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 3,
                                         turn % 2 ? TERN_BY_CALL : TERN_BY_RMA, &before));
            CU_ASSERT_EQUAL(before, 3 * turn);
        }
        EXPECT_OK(tern_barrier(f.worker));
    }
    EXPECT_OK(tern_hashtable_find(f.worker, table, &key, TERN_READ_ONLY | TERN_BY_RMA, &count));
    CU_ASSERT_EQUAL(count, 3 * f.size);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Rank 0 fills the table until every part refuses keys: whatever was in it stays as it was. */
static void full_is_exact(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { CAPACITY = 60, LIMIT = 4000 };
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = CAPACITY},
        &table));
    uint64_t random = fixture_seed(&f, 1), inside = 0, refused = 0;
    static char is_in[LIMIT];
    memset(is_in, 0, sizeof is_in);
    if (f.rank == 0) {
        for (uint64_t key = 0; key < LIMIT && refused < 50 * f.size; key++) {
            uint64_t before = 99;
            tern_status status =
                tern_hashtable_add(f.worker, table, &key, key + 1, any_path(&random), &before);
            is_in[key] = status == TERN_OK;
            inside += status == TERN_OK;
            refused += status == TERN_ERR_FULL;
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_FULL);
            CU_ASSERT_EQUAL(before, status == TERN_OK ? 0 : 99);
            if (status == TERN_ERR_FULL)
                EXPECT_DETAIL("capacity");
        }
        CU_ASSERT(refused >= 50);
        CU_ASSERT(inside >= CAPACITY);
        for (uint64_t key = 0; key<LIMIT; key += key> 400 ? 98 : 1) {
            uint64_t count = 99;
            EXPECT(is_in[key] ? TERN_OK : TERN_ERR_NOT_FOUND,
                   tern_hashtable_find(f.worker, table, &key, any_path(&random), &count));
            CU_ASSERT_EQUAL(count, is_in[key] ? key + 1 : 99);
        }
    }
    uint64_t total = total_keys(&f, table);
    if (f.rank == 0) {
        CU_ASSERT_EQUAL(total, inside);
        uint64_t keys[200], there = 0;
        size_t added = 0;
        for (uint64_t i = 0; i < 200; i++) {
            keys[i] = i;
            there += (uint64_t)is_in[i];
        }
        for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
            EXPECT(there < 200 ? TERN_ERR_FULL : TERN_OK,
                   tern_hashtable_add_many(f.worker, table, keys, 200, 1000, path, &added));
            CU_ASSERT_EQUAL(added, there);
        }
        for (uint64_t key = 0; key < 200; key++) {
            uint64_t count = 99;
            tern_status status = tern_hashtable_find(f.worker, table, &key, TERN_BY_RMA, &count);
            CU_ASSERT_EQUAL(status, is_in[key] ? TERN_OK : TERN_ERR_NOT_FOUND);
            CU_ASSERT_EQUAL(count, is_in[key] ? key + 2001 : 99);
        }
    }
    CU_ASSERT_EQUAL(total_keys(&f, table), total);
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

typedef struct visited {
    const tern_hashtable *table;
    uint32_t rank;
    uint64_t keys, stop_after;
    bool right;
} visited;

static int visit(const void *key, const void *value, void *argument) {
    visited *v = argument;
    uint64_t number, count;
    memcpy(&number, key, 8);
    memcpy(&count, value, 8);
    v->right = v->right && count == number + 7 && tern_hashtable_owner(v->table, key) == v->rank;
    return ++v->keys == v->stop_after;
}

/* Two tables, the second in memory that the first has left dirty. */
static void iteration(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    enum { KEYS = 500 };
    for (int round = 0; round < 2; round++) {
        tern_hashtable *table = NULL;
        EXPECT_OK(tern_hashtable_create(
            f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = KEYS},
            &table));
        visited v = {table, f.rank, 0, 0, true};
        EXPECT_OK(tern_hashtable_for_each(f.worker, table, visit, &v));
        CU_ASSERT_EQUAL(v.keys, 0);
        EXPECT_OK(tern_barrier(f.worker));
        for (uint64_t key = f.rank; key < KEYS; key += f.size)
            EXPECT_OK(tern_hashtable_add(f.worker, table, &key, key + 7,
                                         TERN_WRITE_ONLY | (key % 3 ? TERN_BY_RMA : TERN_BY_CALL),
                                         NULL));
        CU_ASSERT_EQUAL(total_keys(&f, table), KEYS);
        EXPECT_OK(tern_hashtable_for_each(f.worker, table, visit, &v));
        CU_ASSERT(v.right);
        uint64_t size = 0;
        EXPECT_OK(tern_hashtable_local_size(f.worker, table, &size));
        CU_ASSERT_EQUAL(v.keys, size);
        visited some = {table, f.rank, 0, 5, true};
        EXPECT_OK(tern_hashtable_for_each(f.worker, table, visit, &some));
        CU_ASSERT_EQUAL(some.keys, size < 5 ? size : 5);
        EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    }
    fixture_close(&f);
}

enum { EACH = 150, BYTES = 40 };

typedef struct walk {
    uint64_t ranks, keys, wrong;
    unsigned char seen[4 * EACH];
} walk;

static int walk_one(const void *key, const void *value, void *argument) {
    walk *v = argument;
    uint64_t number;
    memcpy(&number, key, 8);
    v->wrong +=
        !is_value(value, BYTES, number, 1) || number >= v->ranks * EACH || v->seen[number]++ != 0;
    v->keys++;
    return 0;
}

/* Own keys, in a phase; some are then erased. */
static uint64_t fill(fixture *f, tern_hashtable *table, uint64_t step) {
    const tern_flags writes = TERN_WRITE_ONLY;
    for (uint64_t i = 0; i < EACH; i += step) {
        uint64_t key = i * f->size + f->rank;
        unsigned char value[BYTES];
        make_value(value, BYTES, key, 1);
        tern_flags path = i % 2 ? TERN_BY_RMA : TERN_BY_CALL;
        EXPECT_OK(tern_hashtable_insert(f->worker, table, &key, value, writes | path, NULL));
    }
    uint64_t left = (EACH + step - 1) / step;
    for (uint64_t i = 0; i < EACH; i += 3 * step, left--) {
        uint64_t key = i * f->size + f->rank;
        EXPECT_OK(tern_hashtable_erase(f->worker, table, &key, writes | TERN_BY_RMA));
    }
    return left * f->size;
}

/* Many buckets to a get, the last get a short one. */
static void large_parts(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker,
        &(tern_hashtable_options){.key_bytes = 8, .value_bytes = BYTES, .capacity = 20000},
        &table));
    uint64_t keys = fill(&f, table, 5);
    EXPECT_OK(tern_barrier(f.worker));
    walk v = {.ranks = f.size};
    EXPECT_OK(tern_hashtable_for_each_anywhere(f.worker, table, walk_one, &v));
    CU_ASSERT(v.keys == keys && v.wrong == 0);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* Keys fill a table up; a clear empties it. */
static void a_clear_gives_room_back(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 10}, &table));
    for (int round = 0; round < 2; round++) {
        uint64_t key = f.rank, others = 0;
        tern_status status = TERN_OK;
        for (; status == TERN_OK; others++) {
            key = number_owned_by(table, f.rank, key + 1);
            status = tern_hashtable_add(f.worker, table, &key, 1, TERN_BY_RMA, NULL);
        }
        EXPECT_DETAIL("erased");
        CU_ASSERT_EQUAL(status, TERN_ERR_FULL);
        CU_ASSERT(others > 3);
        EXPECT_OK(tern_hashtable_clear(f.worker, table));
    }
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static void arguments_of_the_whole(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .capacity = 10}, &table));
    uint64_t size = 77;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_size(f.worker, table, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_size(NULL, table, &size));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_clear(f.worker, NULL));
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_for_each_anywhere(f.worker, table, NULL, NULL));
    CU_ASSERT_EQUAL(size, 77);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

static struct {
    tern_hashtable *table;
    uint64_t key;
    tern_status add, add_by_call, add_many, create;
} handled;

static tern_status use_table_in_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    tern_worker *w = call->worker;
    handled.add = tern_hashtable_add(w, handled.table, &handled.key, 1, TERN_BY_RMA, NULL);
    uint64_t foreign = handled.key;
    while (tern_hashtable_owner(handled.table, &foreign) == tern_worker_self(call->worker).rank &&
           tern_context_size(tern_worker_context(call->worker)) > 1)
        foreign++;
    handled.add_by_call = tern_hashtable_add(w, handled.table, &foreign, 1, TERN_BY_CALL, NULL);
    handled.add_many =
        tern_hashtable_add_many(w, handled.table, &handled.key, 1, 1, TERN_BY_RMA, NULL);
    tern_hashtable *table;
    handled.create =
        tern_hashtable_create(w, &(tern_hashtable_options){.key_bytes = 8, .capacity = 1}, &table);
    return TERN_OK;
}
TERN_FUNCTION(use_table_in_handler)

static void in_a_handler(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(
        f.worker, &(tern_hashtable_options){.key_bytes = 8, .counter = 1, .capacity = 100},
        &handled.table));
    handled.key = number_owned_by(handled.table, f.rank, 0);
    EXPECT_OK(tern_call_return(f.worker, (tern_worker_id){f.rank, 0},
                               &use_table_in_handler_function, NULL, 0, NULL, 0, NULL));
    CU_ASSERT_EQUAL(handled.add, TERN_OK);
    CU_ASSERT_EQUAL(handled.add_by_call, f.size > 1 ? TERN_ERR_STATE : TERN_OK);
    CU_ASSERT_EQUAL(handled.add_many, TERN_ERR_STATE);
    CU_ASSERT_EQUAL(handled.create, TERN_ERR_STATE);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, handled.table));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"options_are_checked", options_are_checked},
        {"ranks_agree", ranks_agree},
        {"arguments_are_checked", arguments_are_checked},
        {"capacity_one", capacity_one},
        {"full_is_exact", full_is_exact},
        {"iteration", iteration},
        {"large_parts", large_parts},
        {"a_clear_gives_room_back", a_clear_gives_room_back},
        {"arguments_of_the_whole", arguments_of_the_whole},
        {"in_a_handler", in_a_handler},
    };
    return tern_test_main(argc, argv, "hashtable", tests, sizeof tests / sizeof tests[0]);
}
