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
    uint32_t root;   /* of a broadcast */
    uint64_t number; /* what a collective over notifications gave */
} things;

static const tern_hashtable_options table_options = {
    .key_bytes = 8, .value_bytes = 8, .capacity = 64};
static const tern_queue_options queue_options = {.item_bytes = 8, .capacity = 16};
static const tern_map_options map_options = {.capacity = 64};

static tern_status call_barrier(things *t) { return tern_barrier(t->f.worker); }
static tern_status call_quiesce(things *t) { return tern_quiesce(t->f.worker); }

static tern_status call_notify_barrier(things *t) { return tern_notify_barrier(t->f.worker); }

static tern_status call_notify_broadcast(things *t) {
    t->number = t->f.rank == t->root ? 1000000 : 0;
    return tern_notify_broadcast(t->f.worker, t->root, &t->number, sizeof t->number);
}

static tern_status call_notify_allreduce(things *t) {
    t->number = 1;
    return tern_notify_allreduce(t->f.worker, TERN_UINT64, TERN_REDUCE_SUM, &t->number, 1);
}

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
    {"tern_notify_barrier", call_notify_barrier},
    {"tern_notify_broadcast", call_notify_broadcast},
    {"tern_notify_allreduce", call_notify_allreduce},
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

static bool is_broadcast(uint64_t i) { return collectives[i].call == call_notify_broadcast; }

/* What this rank's collective over notifications gave is its own, and of all ranks. */
static void check_number(const things *t, uint64_t i) {
    if (is_broadcast(i))
        CU_ASSERT_EQUAL(t->number, 1000000);
    if (collectives[i].call == call_notify_allreduce)
        CU_ASSERT_EQUAL(t->number, t->f.size);
}

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

/* One rank, in turn, calls the next function of the table, the others this one. A broadcast that
 * has all of its ranks may have ended on them; so the one that calls something else is its root, or
 * the root calls something else. */
static void pairs(void) {
    things t;
    if (!set_up(&t))
        return;
    for (uint32_t i = 0; t.f.size > 1 && i < COLLECTIVES; i++) {
        const bool odd = t.f.rank == i % t.f.size;
        const uint32_t mine = odd ? (i + 1) % COLLECTIVES : i;
        t.root = is_broadcast(i) ? i % t.f.size : (i + 1) % t.f.size;
        EXPECT(TERN_ERR_MISMATCH, collectives[mine].call(&t));
        EXPECT_DETAIL(collectives[i].name);
        EXPECT_DETAIL(collectives[(i + 1) % COLLECTIVES].name);
        EXPECT_OK(tern_barrier(t.f.worker));
    }
    check_things(&t);
    tear_down(&t);
}

/* Each rank calls any of them, many times in a row. Those that change nothing succeed where all
 * ranks have drawn the same. A broadcast may have ended on a rank before another came. */
static void at_random(void) {
    enum { HARMLESS = 5 };
    things t;
    if (!set_up(&t))
        return;
    uint64_t random = tern_test_seed();
    const int times = fixture_times(&t.f, 400);
    for (int i = 0; i < times; i++) {
        const bool alike = below(&random, 3) == 0;
        uint64_t first = 0, mine = 0;
        t.root = (uint32_t)below(&random, t.f.size);
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
        if (status == TERN_OK)
            check_number(&t, mine);
        if (!differ || (status == TERN_OK && is_broadcast(mine))) {
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

enum { BARRIER, BROADCAST, ALLREDUCE, NOTIFIED };
static const char *const notified_names[NOTIFIED] = {"tern_notify_barrier", "tern_notify_broadcast",
                                                     "tern_notify_allreduce"};

static tern_status notified(const fixture *f, unsigned kind, uint32_t root, uint64_t *number) {
    switch (kind) {
    case BARRIER:
        return tern_notify_barrier(f->worker);
    case BROADCAST:
        return tern_notify_broadcast(f->worker, root, number, sizeof *number);
    default:
        return tern_notify_allreduce(f->worker, TERN_UINT64, TERN_REDUCE_SUM, number, 1);
    }
}

/* Any rank may be in any of the three. A broadcast may have ended on a rank before another came;
 * every other rank hears of it. No number of one collective comes out of another. */
static void notified_at_random(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t random = tern_test_seed() + 1;
    const int times = fixture_times(&f, 1000);
    for (int i = 0; i < times; i++) {
        const bool alike = below(&random, 2) == 0;
        const uint32_t root = (uint32_t)below(&random, f.size);
        unsigned kind[64], seen = 0;
        for (uint32_t r = 0; r < f.size; r++) {
            kind[r] = (unsigned)below(&random, NOTIFIED);
            kind[r] = alike ? kind[0] : kind[r];
            seen |= 1u << kind[r];
        }
        const unsigned mine = kind[f.rank];
        const bool differ = (seen & (seen - 1)) != 0;
        uint64_t number = mine == BROADCAST ? (f.rank == root ? 1000000 : 0) : 1;
        tern_status status = notified(&f, mine, root, &number);
        if (differ && !(status == TERN_OK && mine == BROADCAST)) {
            EXPECT(TERN_ERR_MISMATCH, status);
            EXPECT_DETAIL("in tern_notify_");
        } else {
            EXPECT_OK(status);
            CU_ASSERT_EQUAL(number, mine == BARRIER ? 1 : mine == BROADCAST ? 1000000 : f.size);
        }
    }
    EXPECT_OK(tern_notify_barrier(f.worker));
    fixture_close(&f);
}

/* The root waits for nobody; the ranks that left its broadcast out are told in their next
 * collective, and the root is not concerned. */
static void broadcast_left_out(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t number = 1;
    if (f.rank == 0) {
        EXPECT_OK(tern_notify_broadcast(f.worker, 0, &number, sizeof number));
    } else {
        EXPECT(TERN_ERR_MISMATCH, tern_barrier(f.worker));
        EXPECT_DETAIL("behind a broadcast");
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_MAX, &number, 1));
    fixture_close(&f);
}

/* Both names, on both sides. */
static void notified_names_told(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    for (unsigned i = 0; f.size > 1 && i < NOTIFIED; i++) {
        const unsigned mine = f.rank == 0 ? i : (i + 1) % NOTIFIED;
        uint64_t number = 1;
        /* The root of a broadcast may be through; so rank 1 is no root of one here. */
        tern_status status = notified(&f, mine, f.rank == 0 ? 1 : 0, &number);
        EXPECT(TERN_ERR_MISMATCH, status);
        EXPECT_DETAIL(notified_names[i]);
        EXPECT_DETAIL(notified_names[(i + 1) % NOTIFIED]);
        EXPECT_OK(tern_barrier(f.worker));
    }
    fixture_close(&f);
}

/* A vector of another length is an error everywhere too. */
static void notified_lengths(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    uint64_t numbers[2] = {1, 1};
    if (f.size > 1) {
        EXPECT(TERN_ERR_MISMATCH, tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_SUM,
                                                        numbers, f.rank == 0 ? 1 : 2));
        EXPECT_DETAIL("bytes on rank");
    }
    EXPECT_OK(tern_notify_allreduce(f.worker, TERN_UINT64, TERN_REDUCE_SUM, numbers, 2));
    CU_ASSERT_EQUAL(numbers[1], f.size);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"pairs", pairs},
        {"at_random", at_random},
        {"other_failures", other_failures},
        {"notified_at_random", notified_at_random},
        {"broadcast_left_out", broadcast_left_out},
        {"notified_names_told", notified_names_told},
        {"notified_lengths", notified_lengths},
    };
    return tern_test_main(argc, argv, "collective_names", tests, sizeof tests / sizeof tests[0]);
}
