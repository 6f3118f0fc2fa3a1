// tern-test: transports

/* Ranks that call different collective functions: each gets an error with both names, keeps what it
 * has, and the next collectives work. */

#include "fixture.h"

typedef struct things {
    fixture f;
    tern_hashtable *table;
    tern_queue *queue;
    tern_map *map;
    tern_locks *locks;
} things;

static const tern_hashtable_options table_options = {
    .key_bytes = 8, .value_bytes = 8, .capacity = 64};
static const tern_queue_options queue_options = {.item_bytes = 8, .capacity = 16};
static const tern_map_options map_options = {.capacity = 64};

static tern_status call_barrier(things *t) { return tern_barrier(t->f.worker); }
static tern_status call_quiesce(things *t) { return tern_quiesce(t->f.worker); }

static tern_status call_table_create(things *t) {
    tern_hashtable *none;
    return tern_hashtable_create(t->f.worker, &table_options, &none);
}

static tern_status call_table_size(things *t) {
    uint64_t count;
    return tern_hashtable_size(t->f.worker, t->table, &count);
}

static tern_status call_table_save(things *t) {
    return tern_hashtable_save(t->f.worker, t->table, "/nowhere/table", NULL, 0);
}

static tern_status call_queue_create(things *t) {
    tern_queue *none;
    return tern_queue_create(t->f.worker, &queue_options, &none);
}

static tern_status call_map_create(things *t) {
    tern_map *none;
    return tern_map_create(t->f.worker, &map_options, &none);
}

static tern_status call_map_save(things *t) {
    return tern_map_save(t->f.worker, t->map, "/nowhere/map", NULL, 0);
}

static tern_status call_map_clear(things *t) { return tern_map_clear(t->f.worker, t->map); }

static tern_status call_locks_create(things *t) {
    tern_locks *none;
    return tern_locks_create(t->f.worker, 1, &none);
}

static tern_status call_table_destroy(things *t) {
    return tern_hashtable_destroy(t->f.worker, t->table);
}

static tern_status call_queue_destroy(things *t) {
    return tern_queue_destroy(t->f.worker, t->queue);
}

static tern_status call_map_destroy(things *t) { return tern_map_destroy(t->f.worker, t->map); }

static tern_status call_locks_destroy(things *t) {
    return tern_locks_destroy(t->f.worker, t->locks);
}

static tern_status call_context_destroy(things *t) { return tern_context_destroy(t->f.context); }

static const struct collective {
    const char *name;
    tern_status (*call)(things *);
} collectives[] = {
    {"tern_barrier", call_barrier},
    {"tern_quiesce", call_quiesce},
    {"tern_hashtable_create", call_table_create},
    {"tern_hashtable_size", call_table_size},
    {"tern_hashtable_save", call_table_save},
    {"tern_queue_create", call_queue_create},
    {"tern_map_create", call_map_create},
    {"tern_map_save", call_map_save},
    {"tern_map_clear", call_map_clear},
    {"tern_locks_create", call_locks_create},
    {"tern_hashtable_destroy", call_table_destroy},
    {"tern_queue_destroy", call_queue_destroy},
    {"tern_map_destroy", call_map_destroy},
    {"tern_locks_destroy", call_locks_destroy},
    {"tern_context_destroy", call_context_destroy},
};

enum { COLLECTIVES = sizeof collectives / sizeof collectives[0] };

static bool set_up(things *t) {
    memset(t, 0, sizeof *t);
    if (!fixture_open(&t->f, NULL))
        return false;
    return EXPECT_OK(tern_hashtable_create(t->f.worker, &table_options, &t->table)) &&
           EXPECT_OK(tern_queue_create(t->f.worker, &queue_options, &t->queue)) &&
           EXPECT_OK(tern_map_create(t->f.worker, &map_options, &t->map)) &&
           EXPECT_OK(tern_locks_create(t->f.worker, 1, &t->locks));
}

static void tear_down(things *t) {
    EXPECT_OK(tern_locks_destroy(t->f.worker, t->locks));
    EXPECT_OK(tern_map_destroy(t->f.worker, t->map));
    EXPECT_OK(tern_queue_destroy(t->f.worker, t->queue));
    EXPECT_OK(tern_hashtable_destroy(t->f.worker, t->table));
    fixture_close(&t->f);
}

/* Everything is still there and works. */
static void check_things(things *t) {
    tern_worker *worker = t->f.worker;
    uint64_t key = t->f.rank, value = key + 100, there = 0;
    size_t bytes = 0;
    EXPECT_OK(tern_hashtable_insert(worker, t->table, &key, &value, 0, NULL));
    EXPECT_OK(tern_hashtable_find(worker, t->table, &key, 0, &there));
    CU_ASSERT_EQUAL(there, value);
    EXPECT_OK(tern_map_insert(worker, t->map, &key, sizeof key, &value, sizeof value, 0, NULL));
    EXPECT_OK(tern_map_find(worker, t->map, &key, sizeof key, 0, &there, sizeof there, &bytes));
    EXPECT_OK(tern_queue_push(worker, t->queue, &value, 0));
    EXPECT_OK(tern_queue_pop(worker, t->queue, &there, 0));
    EXPECT_OK(tern_lock_acquire(worker, t->locks, 0));
    EXPECT_OK(tern_lock_release(worker, t->locks, 0));
}

/* One rank, in turn, calls the next function of the table, the others this one. */
static void pairs(void) {
    things t;
    if (!set_up(&t))
        return;
    for (uint32_t i = 0; t.f.size > 1 && i < COLLECTIVES; i++) {
        const bool odd = t.f.rank == i % t.f.size;
        const uint32_t mine = odd ? (i + 1) % COLLECTIVES : i;
        EXPECT(TERN_ERR_MISMATCH, collectives[mine].call(&t));
        EXPECT_DETAIL(collectives[i].name);
        EXPECT_DETAIL(collectives[(i + 1) % COLLECTIVES].name);
        EXPECT_OK(tern_barrier(t.f.worker));
    }
    check_things(&t);
    tear_down(&t);
}

/* Each rank calls any of them, many times in a row. Those that change nothing succeed where all
 * ranks have drawn the same. */
static void at_random(void) {
    enum { HARMLESS = 2 };
    things t;
    if (!set_up(&t))
        return;
    uint64_t random = tern_test_seed();
    const int times = fixture_times(&t.f, 400);
    for (int i = 0; i < times; i++) {
        const bool alike = below(&random, 3) == 0;
        uint64_t first = 0, mine = 0;
        bool differ = false;
        for (uint32_t r = 0; r < t.f.size; r++) {
            const uint64_t drawn = below(&random, COLLECTIVES);
            const uint64_t what = alike ? drawn % HARMLESS : drawn;
            first = r == 0 ? what : first;
            mine = r == t.f.rank ? (alike ? first : what) : mine;
            differ = differ || (!alike && what != first);
        }
        if (!differ && mine >= HARMLESS)
            continue;
        const tern_status status = collectives[mine].call(&t);
        if (!differ) {
            EXPECT_OK(status);
        } else if (EXPECT(TERN_ERR_MISMATCH, status)) {
            EXPECT_DETAIL(collectives[mine].name);
        }
    }
    check_things(&t);
    tear_down(&t);
}

/* Options that differ, and a failure on one rank alone, are told apart from names that differ. */
static void other_failures(void) {
    things t;
    if (!set_up(&t))
        return;
    tern_hashtable_options options = table_options;
    tern_hashtable *none;
    options.capacity = t.f.rank == 0 ? 0 : 64;
    if (tern_hashtable_create(t.f.worker, &options, &none) == TERN_OK)
        CU_FAIL("a table of capacity 0 on rank 0 was created");
    EXPECT_DETAIL("capacity");
    uint64_t count = 1;
    EXPECT(TERN_ERR_ARGUMENT, tern_hashtable_size(t.f.worker, t.table, NULL));
    EXPECT_OK(tern_hashtable_size(t.f.worker, t.table, &count));
    CU_ASSERT_EQUAL(count, 0);
    tear_down(&t);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"pairs", pairs},
        {"at_random", at_random},
        {"other_failures", other_failures},
    };
    return tern_test_main(argc, argv, "collective_names", tests, sizeof tests / sizeof tests[0]);
}
