// tern-test: transports

/* Hash table as a whole: size, clear, and visits of every key from any rank. */

#include "table_tools.h"

enum { EACH = 150, BYTES = 40 };

typedef struct visited {
    uint64_t ranks, keys, stop_after, wrong;
    bool counters;
    unsigned char seen[4 * EACH];
} visited;

static int visit(const void *key, const void *value, void *argument) {
    visited *v = argument;
    uint64_t number, count;
    memcpy(&number, key, 8);
    memcpy(&count, value, 8);
    bool right = v->counters ? count == number + 7 : is_value(value, BYTES, number, 1);
    v->wrong += !right || number >= v->ranks * EACH || v->seen[number]++ != 0;
    return ++v->keys == v->stop_after;
}

static tern_hashtable *make(fixture *f, bool counters) {
    tern_hashtable *table = NULL;
    tern_hashtable_options options = {.key_bytes = 8,
                                      .value_bytes = counters ? 0 : BYTES,
                                      .counter = counters,
                                      .capacity = EACH * f->size};
    EXPECT_OK(tern_hashtable_create(f->worker, &options, &table));
    return table;
}

/* Own keys, in a phase; some are then erased. */
static uint64_t fill(fixture *f, tern_hashtable *table, bool counters, uint64_t step) {
    const tern_flags writes = TERN_WRITE_ONLY;
    for (uint64_t i = 0; i < EACH; i += step) {
        uint64_t key = i * f->size + f->rank;
        unsigned char value[BYTES];
        make_value(value, BYTES, key, 1);
        tern_flags via = i % 2 ? TERN_BY_RMA : TERN_BY_CALL;
        EXPECT_OK(counters
                      ? tern_hashtable_add(f->worker, table, &key, key + 7, writes | via, NULL)
                      : tern_hashtable_insert(f->worker, table, &key, value, writes | via, NULL));
    }
    uint64_t left = (EACH + step - 1) / step;
    for (uint64_t i = 0; i < EACH; i += 3 * step, left--) {
        uint64_t key = i * f->size + f->rank;
        EXPECT_OK(tern_hashtable_erase(f->worker, table, &key, writes | TERN_BY_RMA));
    }
    return left * f->size;
}

static void one_kind(fixture *f, bool counters) {
    tern_hashtable *table = make(f, counters);
    uint64_t step = fixture_all_near(f) ? 1 : 5;
    for (int round = 0; round < 3; round++) {
        uint64_t size = 77, mine = 77, keys = fill(f, table, counters, step + (uint64_t)round);
        EXPECT_OK(tern_hashtable_size(f->worker, table, &size));
        CU_ASSERT_EQUAL(size, keys);
        visited all = {.ranks = f->size, .counters = counters}, some = all, own = all;
        EXPECT_OK(tern_hashtable_for_each_anywhere(f->worker, table, visit, &all));
        CU_ASSERT(all.keys == keys && all.wrong == 0);
        some.stop_after = 5;
        EXPECT_OK(tern_hashtable_for_each_anywhere(f->worker, table, visit, &some));
        CU_ASSERT_EQUAL(some.keys, 5);
        EXPECT_OK(tern_hashtable_for_each(f->worker, table, visit, &own));
        EXPECT_OK(tern_hashtable_local_size(f->worker, table, &mine));
        CU_ASSERT(own.keys == mine && own.wrong == 0);
        EXPECT_OK(tern_hashtable_clear(f->worker, table));
        uint64_t key = f->rank;
        unsigned char value[BYTES];
        EXPECT(TERN_ERR_NOT_FOUND, tern_hashtable_find(f->worker, table, &key, TERN_BY_RMA, value));
        EXPECT_OK(tern_hashtable_size(f->worker, table, &size));
        CU_ASSERT_EQUAL(size, 0);
    }
    EXPECT_OK(tern_hashtable_destroy(f->worker, table));
}

static void all_keys(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    one_kind(&f, false);
    one_kind(&f, true);
    fixture_close(&f);
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
    uint64_t keys = fill(&f, table, false, 5);
    EXPECT_OK(tern_barrier(f.worker));
    visited v = {.ranks = f.size};
    EXPECT_OK(tern_hashtable_for_each_anywhere(f.worker, table, visit, &v));
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

static void arguments_are_checked(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = make(&f, true);
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

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"all_keys", all_keys},
        {"large_parts", large_parts},
        {"a_clear_gives_room_back", a_clear_gives_room_back},
        {"arguments_are_checked", arguments_are_checked},
    };
    return tern_test_main(argc, argv, "hashtable_whole", tests, sizeof tests / sizeof tests[0]);
}
