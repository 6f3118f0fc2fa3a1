// tern-test: transports

/* Keys come and go for ever, few at a time: the room of erased ones comes back, in constant memory.
 * Far more keys are inserted than a table has buckets. */

#include "table_tools.h"

#include "hashtable/bucket/short.h"
#include "hashtable/table/table.h"
#include "map/map.h"

enum { ALIVE = 4, CAPACITY = 64, REMOTE_CAPACITY = 16, WARM = 4, LEAST = 60, TURNOVERS = 1000 };

typedef struct churn {
    fixture *f;
    tern_hashtable *table;
    tern_map *map;
    size_t value_bytes;
    bool counts;
    bool batches;
    tern_flags path;
} churn;

static tern_flags path_of(const churn *c, uint64_t number) {
    return c->path == TERN_AUTO ? fixture_path(number) : c->path;
}

static tern_status put(const churn *c, uint64_t key) {
    static unsigned char value[256];
    tern_worker *w = c->f->worker;
    const tern_flags flags = path_of(c, key / c->f->size);
    make_value(value, sizeof value, key, 1);
    if (c->map != NULL)
        return tern_map_insert(w, c->map, &key, sizeof key, value, c->value_bytes, flags, NULL);
    return c->counts ? tern_hashtable_add(w, c->table, &key, key + 1, flags, NULL)
                     : tern_hashtable_insert(w, c->table, &key, value, flags, NULL);
}

static tern_status take(const churn *c, uint64_t key) {
    const tern_flags flags = path_of(c, key / c->f->size + 1);
    return c->map != NULL ? tern_map_erase(c->f->worker, c->map, &key, sizeof key, flags)
                          : tern_hashtable_erase(c->f->worker, c->table, &key, flags);
}

/* Whether the key is there with its value. */
static bool holds(const churn *c, uint64_t key) {
    unsigned char value[256];
    uint64_t count;
    size_t bytes = c->value_bytes;
    const tern_flags flags = path_of(c, key / c->f->size + 2);
    if (c->map != NULL)
        return tern_map_find(c->f->worker, c->map, &key, sizeof key, flags, value, sizeof value,
                             &bytes) == TERN_OK &&
               bytes == c->value_bytes && is_value(value, bytes, key, 1);
    if (tern_hashtable_find(c->f->worker, c->table, &key, flags, value) != TERN_OK)
        return false;
    memcpy(&count, value, sizeof count);
    return c->counts ? count == key + 1 : is_value(value, bytes, key, 1);
}

static size_t memory_in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

/* Every rank has ALIVE keys of its own in the table at a time. */
static void come_and_go(const churn *c, uint64_t times) {
    const fixture *f = c->f;
    uint64_t failed = 0, lost = 0, left = 0;
    tern_status status = TERN_OK;
    for (uint64_t i = 0; i < times && failed == 0; i++) {
        const uint64_t key = i * f->size + f->rank, old = key - (uint64_t)ALIVE * f->size;
        status = put(c, key);
        if (status == TERN_OK && i >= ALIVE)
            status = take(c, old);
        failed += !EXPECT_OK(status);
        if (i % 7 == 0)
            lost += !holds(c, key);
        if (i >= ALIVE && i % 5 == 0)
            left += holds(c, old);
    }
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT_EQUAL(lost, 0);
    CU_ASSERT_EQUAL(left, 0);
    for (uint64_t i = times - ALIVE; i < times; i++)
        CU_ASSERT(holds(c, i * f->size + f->rank));
    for (uint64_t i = times - ALIVE; i < times; i++)
        EXPECT_OK(take(c, i * f->size + f->rank));
}

/* ALIVE keys at a time, in a batch each. */
static void come_and_go_in_batches(const churn *c, uint64_t times) {
    const fixture *f = c->f;
    uint64_t failed = 0, lost = 0;
    for (uint64_t i = 0; i < times && failed == 0; i += ALIVE) {
        uint64_t keys[ALIVE], values[ALIVE];
        size_t stored = 0, present = 0;
        for (uint64_t k = 0; k < ALIVE; k++) {
            keys[k] = (i + k) * f->size + f->rank;
            make_value((unsigned char *)&values[k], sizeof values[k], keys[k], 1);
        }
        const tern_status status =
            c->counts ? tern_hashtable_add_many(f->worker, c->table, keys, ALIVE, 1,
                                                path_of(c, i / ALIVE), &stored)
                      : tern_hashtable_insert_many(f->worker, c->table, keys, values, ALIVE,
                                                   path_of(c, i / ALIVE), &stored);
        failed += !EXPECT_OK(status);
        uint64_t there[ALIVE] = {0};
        EXPECT_OK(tern_hashtable_find_many(f->worker, c->table, keys, ALIVE,
                                           path_of(c, i / ALIVE + 1), there, NULL, &present));
        lost += stored != ALIVE || present != ALIVE;
        for (uint64_t k = 0; k < ALIVE && failed == 0; k++) {
            lost += there[k] != (c->counts ? 1 : values[k]);
            failed += !EXPECT_OK(take(c, keys[k]));
        }
    }
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT_EQUAL(lost, 0);
}

/* Arrays that a part may have at most, when ranks are slow to leave old ones; and blocks. */
static size_t few_arrays(const churn *c) {
    const tern_hashtable *table = c->map != NULL ? c->map->table : c->table;
    return 16 * table->buckets * table->shape.stride + 65536;
}

/* A part that grows and is back in its first array has no other one: nothing is kept for the next
 * move. */
static void expect_first_array(const churn *c, size_t created) {
    const tern_table_part *first = &c->table->part[c->f->rank];
    if (tern_table_part_of(c->table, c->f->rank)->buckets.offset == first->buckets.offset)
        CU_ASSERT_EQUAL(memory_in_use(c->f), created);
}

/* In full, at least as many as fill the table TURNOVERS times. */
static uint64_t times_of(const fixture *f, uint64_t capacity, int shm) {
    const uint64_t times = (uint64_t)fixture_times(f, shm) + LEAST;
    const uint64_t least = tern_test_full() ? TURNOVERS * capacity / f->size : 0;
    return times > least ? times : least;
}

/* options: of a table; NULL: on a map, which may grow. */
static void churn_on(churn c, tern_hashtable_options *options, int grow, int shm) {
    fixture f;
    uint64_t size = 1;
    if (!fixture_open(&f, NULL))
        return;
    c.f = &f;
    /* Where every step is a message, few keys fill a small table. */
    const bool direct = tern_context_config(f.context)->transport == TERN_TRANSPORT_AUTO;
    const uint64_t capacity = direct ? CAPACITY : REMOTE_CAPACITY;
    const uint64_t times = times_of(&f, capacity, direct ? shm : shm / 8);
    const size_t before = memory_in_use(&f);
    if (options != NULL) {
        options->capacity = capacity;
        EXPECT_OK(tern_hashtable_create(f.worker, options, &c.table));
    } else {
        const tern_map_options small = {.capacity = capacity, .inline_bytes = 32, .grow = grow};
        EXPECT_OK(tern_map_create(f.worker, &small, &c.map));
    }
    EXPECT_OK(tern_barrier(f.worker));
    const size_t created = memory_in_use(&f);
    EXPECT_OK(tern_barrier(f.worker));
    (c.batches ? come_and_go_in_batches : come_and_go)(&c, times / WARM);
    EXPECT_OK(tern_barrier(f.worker));
    (c.batches ? come_and_go_in_batches : come_and_go)(&c, times);
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(memory_in_use(&f) < before + few_arrays(&c));
    if (c.map != NULL)
        EXPECT_OK(tern_map_size(f.worker, c.map, &size));
    else
        EXPECT_OK(tern_hashtable_size(f.worker, c.table, &size));
    CU_ASSERT_EQUAL(size, 0);
    if (options != NULL && grow)
        expect_first_array(&c, created);
    if (c.map != NULL)
        EXPECT_OK(tern_map_destroy(f.worker, c.map));
    else
        EXPECT_OK(tern_hashtable_destroy(f.worker, c.table));
    fixture_close(&f);
}

static tern_hashtable_options options_of(const churn *c, int grow) {
    return (tern_hashtable_options){.key_bytes = 8,
                                    .value_bytes = c->counts ? 0 : c->value_bytes,
                                    .counter = c->counts,
                                    .grow = grow};
}

static void on_table(churn c, int grow, int shm) {
    tern_hashtable_options options = options_of(&c, grow);
    churn_on(c, &options, grow, shm);
}

/* Moves the keys of this rank's part so often. */
static void move_own(const churn *c, uint32_t moves, bool halfway) {
    const fixture *f = c->f;
    const tern_table_part *first = &c->table->part[f->rank], *start = first;
    const uint32_t from = tern_table_part_of(c->table, f->rank)->generation;
    uint64_t key = 0;
    while (start->generation < from + moves) {
        key = number_owned_by(c->table, f->rank, key + 1);
        EXPECT_OK(put(c, key));
        EXPECT_OK(take(c, key));
        start = tern_table_part_of(c->table, f->rank);
        if (halfway && start != first)
            CU_ASSERT_NOT_EQUAL(start->buckets.offset, first->buckets.offset);
    }
}

/* While a rank is in an operation that may hold an array, nothing else lies in its memory. */
static void an_operation_is_halfway(void) {
    enum { MOVES = 4 };

    fixture f;
    churn c = {.f = &f, .value_bytes = 8, .path = TERN_BY_RMA};
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = 8, .grow = 1, .capacity = REMOTE_CAPACITY};
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &c.table));
    const tern_table_part *first = &c.table->part[0];
    if (f.rank == f.size - 1)
        tern_table_enter(f.worker, c.table);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0)
        move_own(&c, MOVES, true);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == f.size - 1)
        tern_table_exit(f.worker, c.table);
    while (f.rank == 0 && tern_table_part_of(c.table, 0)->buckets.offset != first->buckets.offset)
        move_own(&c, 1, false);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, c.table));
    fixture_close(&f);
}

/* An add by the short path has not entered the table, so a grace period may end in any progress
 * that it makes. A counter that is marked as moved, or is erased, it leaves to the general path. */
static void the_short_path_makes_no_progress(void) {
    static const uint64_t marks[] = {TERN_COUNTER_MOVED, TERN_COUNTER_ERASED};

    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_hashtable *table = NULL;
    const tern_hashtable_options options = {
        .key_bytes = 8, .counter = 1, .grow = 1, .capacity = CAPACITY};
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &table));
    const uint64_t key = number_owned_by(table, f.rank, 0);
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 5, TERN_BY_RMA, NULL));
    const tern_key_search p = tern_probe_start(f.worker, table, &key, tern_hash_word(&key, 0));
    for (size_t i = 0; p.part->direct != NULL && i < sizeof marks / sizeof marks[0]; i++) {
        uint64_t *counter = tern_counter_direct(&p, TERN_SHAPE_COUNT8), before = 77;
        __atomic_fetch_or(counter, marks[i], __ATOMIC_SEQ_CST);
        table->inside[f.worker->index].owes = true;
        const uint64_t rounds = atomic_load(&f.worker->rounds);
        CU_ASSERT_EQUAL(tern_short_add(p, 2, TERN_READ_WRITE, &before), TERN_SHORT_DECLINED);
        CU_ASSERT_EQUAL(atomic_load(&f.worker->rounds), rounds);
        CU_ASSERT_EQUAL(before, 77);
        tern_error_clear();
        __atomic_fetch_and(counter, ~marks[i], __ATOMIC_SEQ_CST);
    }
    EXPECT_OK(tern_hashtable_erase(f.worker, table, &key, TERN_BY_RMA));
    uint64_t before = 77;
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 3, TERN_BY_RMA, &before));
    CU_ASSERT_EQUAL(before, 0);
    EXPECT_OK(tern_hashtable_add(f.worker, table, &key, 1, TERN_BY_RMA, &before));
    CU_ASSERT_EQUAL(before, 3);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_destroy(f.worker, table));
    fixture_close(&f);
}

/* A table that has grown is cleared: its memory comes back, and it is used as before. */
static void a_large_clear(void) {
    enum { KEYS = 2000, SOME = 40 };

    static uint64_t keys[KEYS];
    fixture f;
    churn c = {.f = &f, .value_bytes = 8, .path = TERN_BY_RMA};
    const tern_hashtable_options options = {
        .key_bytes = 8, .value_bytes = 8, .grow = 1, .capacity = CAPACITY};
    uint64_t size = 1;
    if (!fixture_open(&f, NULL))
        return;
    EXPECT_OK(tern_hashtable_create(f.worker, &options, &c.table));
    const size_t most = memory_in_use(&f) + few_arrays(&c);
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = i * f.size + f.rank;
    EXPECT_OK(tern_hashtable_insert_many(f.worker, c.table, keys, keys, KEYS, TERN_BY_CALL, NULL));
    EXPECT_OK(tern_barrier(f.worker));
    CU_ASSERT(memory_in_use(&f) > most);
    EXPECT_OK(tern_hashtable_clear(f.worker, c.table));
    for (uint64_t i = 0; i < SOME; i++)
        CU_ASSERT_FALSE(holds(&c, keys[i]));
    EXPECT_OK(tern_barrier(f.worker));
    come_and_go(&c, LEAST);
    while (memory_in_use(&f) > most) /* all ranks have to make progress */
        tern_progress(f.worker);
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT_OK(tern_hashtable_size(f.worker, c.table, &size));
    CU_ASSERT_EQUAL(size, 0);
    EXPECT_OK(tern_hashtable_destroy(f.worker, c.table));
    fixture_close(&f);
}

/* In full, many millions over shm, and 200,000 of two ranks over other transports. */
static void fixed_by_rma(void) {
    const int times = tern_test_full() ? 1600000 : 10000;
    on_table((churn){.value_bytes = 8, .path = TERN_BY_RMA}, 0, times);
}
static void fixed_by_call(void) {
    on_table((churn){.value_bytes = 8, .path = TERN_BY_CALL}, 0, 1500);
}
static void fixed_by_any_path(void) {
    on_table((churn){.value_bytes = 100, .path = TERN_AUTO}, 0, 1500);
}
static void counters(void) {
    on_table((churn){.value_bytes = 8, .counts = true, .path = TERN_BY_RMA}, 0, 1500);
}
static void counters_by_any_path(void) {
    on_table((churn){.value_bytes = 8, .counts = true, .path = TERN_AUTO}, 0, 1500);
}
static void batches(void) {
    on_table((churn){.value_bytes = 8, .batches = true, .path = TERN_BY_RMA}, 0, 400);
    on_table((churn){.value_bytes = 8, .batches = true, .path = TERN_BY_CALL}, 0, 400);
}
static void batches_of_adds(void) {
    on_table((churn){.counts = true, .batches = true, .path = TERN_BY_RMA}, 0, 400);
    on_table((churn){.counts = true, .batches = true, .path = TERN_BY_CALL}, 0, 400);
}
static void growing(void) { on_table((churn){.value_bytes = 8, .path = TERN_BY_RMA}, 1, 1500); }
static void growing_by_any_path(void) {
    on_table((churn){.value_bytes = 8, .path = TERN_AUTO}, 1, 1500);
}
static void maps(void) { churn_on((churn){.value_bytes = 8, .path = TERN_AUTO}, NULL, 0, 1500); }
static void maps_with_blocks(void) {
    churn_on((churn){.value_bytes = 200, .path = TERN_BY_RMA}, NULL, 0, 1500);
}
static void growing_maps(void) {
    churn_on((churn){.value_bytes = 200, .path = TERN_AUTO}, NULL, 1, 1500);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"fixed_by_rma", fixed_by_rma},
        {"fixed_by_call", fixed_by_call},
        {"fixed_by_any_path", fixed_by_any_path},
        {"counters", counters},
        {"counters_by_any_path", counters_by_any_path},
        {"growing", growing},
        {"batches", batches},
        {"batches_of_adds", batches_of_adds},
        {"growing_by_any_path", growing_by_any_path},
        {"maps", maps},
        {"maps_with_blocks", maps_with_blocks},
        {"growing_maps", growing_maps},
        {"a_large_clear", a_large_clear},
        {"an_operation_is_halfway", an_operation_is_halfway},
        {"the_short_path_makes_no_progress", the_short_path_makes_no_progress},
    };
    return tern_test_main(argc, argv, "hashtable_churn", tests, sizeof tests / sizeof tests[0]);
}
