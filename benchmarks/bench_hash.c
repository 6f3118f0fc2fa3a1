/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hash table (paper 003, figure 5): 100,000 keys of 8 bytes a rank, each of which belongs to a
 * random rank. Every rank inserts new keys into a fresh table, or finds, replaces and counts random
 * keys. Then the same with larger values, with keys by Zipf's law, and at higher loads.
 */

#include "baselines/baselines.h"
#include "baselines/table.h"
#include "cells.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum {
    BATCH = 1024,
    DRAWN = 1 << 20,
    PART_MAX = 40 << 20,
    LOAD = 66,
    /* How many times as long as others the blocks of a fresh table are. TERN_AUTO measures
     * costs in each fresh table, and that would fill a shorter block where calls take long. */
    LASTS = 10
};

typedef struct hash {
    tern_hashtable *table;
    size_t value_bytes;
    int counter;
    bool classic; /* the paper's table, in place of tern's */
    baseline_table *baseline;
    unsigned load;   /* percent, approximately */
    uint64_t keys;   /* of all ranks */
    uint64_t first;  /* number of the first key that a block inserts */
    double exponent; /* of Zipf's law, by which keys are drawn; 0: evenly */
    uint32_t *numbers;
    uint64_t drawn, added, random;
    ceiling_table bare;
    tern_ptr place[2];
    char value[CELLS_VALUE_MAX];
} hash;

/* The square root of count, or up to twice that. */
static uint64_t rough_root(uint64_t count) {
    return UINT64_C(1) << ((65 - __builtin_clzll(count)) / 2);
}

/* The capacity to create the table with. A part gets half as many buckets more than it is to take
 * keys: its share and, with several ranks, an allowance for uneven shares (hashtable/create.c). A
 * given load needs a table without this excess. */
static uint64_t capacity_for(const bench *b, const hash *h) {
    const uint64_t ranks = (uint64_t)b->ranks, share = h->keys * 200 / (3 * h->load * ranks);
    const uint64_t root = rough_root(share);
    return ranks == 1 || h->load == LOAD ? h->keys * 200 / (3 * (uint64_t)h->load) + 1
                                         : (share - 6 * root - 8) * ranks;
}

/* The buckets of a rank of the paper's table: as many as tern's table has at the usual load. */
static uint64_t baseline_buckets(const bench *b, const hash *h) {
    const uint64_t share = h->keys / (uint64_t)b->ranks + 1;
    return (share + (b->ranks > 1 ? 6 * rough_root(share) + 8 : 0)) * 3 / 2;
}

static void create_table(bench *b, hash *h) {
    if (h->classic) {
        bench_ok(baseline_table_create(b->worker, b->comm, h->value_bytes, baseline_buckets(b, h),
                                       &h->baseline),
                 "baseline_table_create");
        return;
    }
    tern_hashtable_options options = {.key_bytes = sizeof(uint64_t),
                                      .value_bytes = h->counter ? 0 : h->value_bytes,
                                      .counter = h->counter,
                                      .capacity = capacity_for(b, h)};
    bench_ok(tern_hashtable_create(b->worker, &options, &h->table), "tern_hashtable_create");
}

static void destroy_table(bench *b, hash *h) {
    if (h->classic) {
        bench_ok(baseline_table_destroy(b->worker, h->baseline), "baseline_table_destroy");
        return;
    }
    bench_ok(tern_hashtable_destroy(b->worker, h->table), "tern_hashtable_destroy");
    h->table = NULL;
}

static uint64_t next_number(hash *h) { return h->numbers[h->drawn++ % DRAWN]; }

static void put_pair(bench *b, hash *h, uint64_t number, tern_flags flags) {
    uint64_t key = ceiling_mix(number);
    memcpy(h->value, &number, sizeof number);
    bench_ok(tern_hashtable_insert(b->worker, h->table, &key, h->value, flags, NULL),
             "tern_hashtable_insert");
}

static void insert(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    for (uint64_t i = 0; i < n; i++)
        put_pair(b, h, h->first + i * (uint64_t)b->ranks, flags);
}

static void update(bench *b, void *work, tern_flags flags, uint64_t n) {
    for (; n > 0; n--)
        put_pair(b, work, next_number(work), flags);
}

static void find(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    for (; n > 0; n--) {
        uint64_t number = next_number(h), key = ceiling_mix(number), found;
        bench_ok(tern_hashtable_find(b->worker, h->table, &key, flags, h->value),
                 "tern_hashtable_find");
        memcpy(&found, h->value, sizeof found);
        if (__builtin_expect(found != number, 0))
            bench_fail("tern_hashtable_find gave another value", TERN_ERR_SYSTEM);
    }
}

static void miss(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    for (; n > 0; n--) {
        uint64_t key = ceiling_mix(h->keys + next_number(h));
        tern_status status = tern_hashtable_find(b->worker, h->table, &key, flags, h->value);
        if (__builtin_expect(status != TERN_ERR_NOT_FOUND, 0))
            bench_fail("tern_hashtable_find of an absent key", status);
    }
}

static void add(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    h->added += n;
    for (; n > 0; n--) {
        uint64_t key = ceiling_mix(next_number(h));
        bench_ok(tern_hashtable_add(b->worker, h->table, &key, 1, flags, NULL),
                 "tern_hashtable_add");
    }
}

static void add_many(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    uint64_t keys[BATCH];
    h->added += n;
    while (n > 0) {
        size_t count = n < BATCH ? (size_t)n : BATCH;
        for (size_t i = 0; i < count; i++)
            keys[i] = ceiling_mix(next_number(h));
        bench_ok(tern_hashtable_add_many(b->worker, h->table, keys, count, 1, flags, NULL),
                 "tern_hashtable_add_many");
        n -= count;
    }
}

/* New values for keys that are there. */
static void update_many(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    uint64_t keys[BATCH], values[BATCH];
    while (n > 0) {
        size_t count = n < BATCH ? (size_t)n : BATCH;
        for (size_t i = 0; i < count; i++) {
            values[i] = next_number(h);
            keys[i] = ceiling_mix(values[i]);
        }
        bench_ok(tern_hashtable_insert_many(b->worker, h->table, keys, values, count, flags, NULL),
                 "tern_hashtable_insert_many");
        n -= count;
    }
}

static void baseline_put_pair(bench *b, hash *h, uint64_t number, tern_flags flags) {
    bench_ok(
        baseline_table_insert(b->worker, h->baseline, ceiling_mix(number), &number, flags, NULL),
        "baseline_table_insert");
}

static void baseline_insert(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    for (uint64_t i = 0; i < n; i++)
        baseline_put_pair(b, h, h->first + i * (uint64_t)b->ranks, flags);
}

static void baseline_find(bench *b, void *work, tern_flags flags, uint64_t n) {
    hash *h = work;
    for (; n > 0; n--) {
        uint64_t number = next_number(h), found = 0;
        bench_ok(baseline_table_find(b->worker, h->baseline, ceiling_mix(number), flags, &found),
                 "baseline_table_find");
        if (__builtin_expect(found != number, 0))
            bench_fail("baseline_table_find gave another value", TERN_ERR_SYSTEM);
    }
}

/* An empty table, and keys that differ from block to block. */
static void fresh_table(bench *b, void *work, uint64_t n) {
    hash *h = work;
    destroy_table(b, h);
    create_table(b, h);
    h->first += n * (uint64_t)b->ranks;
}

/* The bare table, where two ranks share memory. */

static void open_bare(bench *b, hash *h) {
    if (!b->shared || b->ranks != 2)
        return;
    h->bare.buckets = h->keys * 5 / 8;
    for (int owner = 0; owner < 2; owner++) {
        void *part;
        h->place[owner] = bench_place(b, owner, h->bare.buckets * sizeof(ceiling_bucket), &part);
        h->bare.part[owner] = part;
    }
}

static void close_bare(bench *b, hash *h) {
    for (int owner = 0; owner < 2 && h->bare.buckets > 0; owner++)
        bench_unplace(b, owner, h->place[owner]);
}

static void fresh_bare(bench *b, void *work, uint64_t n) {
    hash *h = work;
    memset(h->bare.part[b->rank], 0, h->bare.buckets * sizeof(ceiling_bucket));
    h->first += 2 * n;
}

static void bare_insert(bench *b, void *work, uint64_t n) {
    (void)b;
    ceiling_table_insert(&((hash *)work)->bare, ((hash *)work)->first, n);
}

static void bare_find(bench *b, void *work, uint64_t n) {
    hash *h = work;
    (void)b;
    if (ceiling_table_find(&h->bare, &h->random, h->keys, n) != 0)
        bench_fail("the bare table gave another value", TERN_ERR_SYSTEM);
}

static void bare_add(bench *b, void *work, uint64_t n) {
    hash *h = work;
    (void)b;
    ceiling_table_add(&h->bare, &h->random, h->keys, n);
}

static void bare_add_many(bench *b, void *work, uint64_t n) {
    hash *h = work;
    (void)b;
    ceiling_table_add_many(&h->bare, &h->random, h->keys, n);
}

static int sum_counter(const void *key, const void *value, void *argument) {
    uint64_t count;
    (void)key;
    memcpy(&count, value, sizeof count);
    *(uint64_t *)argument += count;
    return 0;
}

/* Checks that no addition was lost or counted twice. */
static void check_added(bench *b, const hash *h) {
    uint64_t mine[2] = {h->added, 0}, all[2];
    cells_end(b);
    bench_ok(tern_hashtable_for_each(b->worker, h->table, sum_counter, &mine[1]),
             "tern_hashtable_for_each");
    bench_mpi(MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, b->comm), "MPI_Allreduce");
    if (all[0] != all[1])
        bench_fail("the counters do not sum up to what was added", TERN_ERR_SYSTEM);
}

/* Inserts the numbers below keys into both tables, a share by each rank. */
static void fill(bench *b, hash *h) {
    const tern_flags any = TERN_READ_WRITE;
    for (uint64_t number = (uint64_t)b->rank; number < h->keys; number += (uint64_t)b->ranks) {
        uint64_t key = ceiling_mix(number);
        if (h->classic)
            baseline_put_pair(b, h, number, any | TERN_BY_RMA);
        else if (!h->counter)
            put_pair(b, h, number, any | TERN_BY_RMA);
        else
            bench_ok(tern_hashtable_add(b->worker, h->table, &key, 0, any | TERN_BY_RMA, NULL),
                     "tern_hashtable_add");
    }
    if (h->bare.buckets > 0) {
        fresh_bare(b, h, 0);
        bench_meet(b);
        ceiling_table_insert(&h->bare, (uint64_t)b->rank, h->keys / 2);
    }
    cells_end(b);
}

/* Linear probing in a randomly filled table of the given load, in percent. For a remote owner the
 * first buckets cost one get each, and later ones share a get: then looks counts gets
 * (hashtable/bucket/probe.h). */
typedef struct looks {
    double there, absent; /* buckets of other keys that are looked at for a key that is there, and
                             for one that is not */
} looks;

static looks simulate(unsigned load, unsigned singly, unsigned many) {
    enum { BUCKETS = 1 << 16 };
    static unsigned char taken[BUCKETS];
    uint64_t random = 3, keys = (uint64_t)BUCKETS * load / 100, run = 0;
    looks l = {0, 0};
    memset(taken, 0, sizeof taken);
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t at = ceiling_random(&random, BUCKETS), passed = 0;
        for (; taken[at]; passed++)
            at = (at + 1) % BUCKETS;
        taken[at] = 1;
        l.there += (double)(passed < singly ? passed : singly + (passed - singly) / many);
    }
    for (uint64_t i = 0; i < 2 * (uint64_t)BUCKETS; i++) {
        /* Going backwards from the end of a run of taken buckets, each bucket sees one more. */
        run = taken[(2 * (uint64_t)BUCKETS - 1 - i) % BUCKETS] ? run + 1 : 0;
        if (i >= BUCKETS)
            l.absent += (double)(run < singly ? run : singly + (run - singly) / many);
    }
    l.there = keys > 0 ? l.there / (double)keys : 0;
    l.absent /= BUCKETS;
    return l;
}

static looks looks_at(unsigned load, tern_flags promise, bool remote) {
    enum { SINGLY = 8, MANY = 32, ROW = 16 };
    static looks known[101][3];
    const size_t kind = !remote ? 0 : promise == TERN_READ_ONLY ? 1 : 2;
    looks *l = &known[load][kind];
    if (l->absent == 0 && load > 0)
        *l = kind == 0   ? simulate(load, UINT32_MAX, 1)
             : kind == 1 ? simulate(load, 0, ROW)
                         : simulate(load, SINGLY, MANY);
    return *l;
}

static double pass_still(const bench *b, const void *work, bool remote, uint64_t n) {
    (void)b;
    (void)n;
    return looks_at(((const hash *)work)->load, TERN_READ_ONLY, remote).there;
}

static double pass_found(const bench *b, const void *work, bool remote, uint64_t n) {
    (void)b;
    (void)n;
    return looks_at(((const hash *)work)->load, TERN_READ_WRITE, remote).there;
}

static double miss_still(const bench *b, const void *work, bool remote, uint64_t n) {
    (void)b;
    (void)n;
    return looks_at(((const hash *)work)->load, TERN_READ_ONLY, remote).absent;
}

static double miss_moving(const bench *b, const void *work, bool remote, uint64_t n) {
    (void)b;
    (void)n;
    return looks_at(((const hash *)work)->load, TERN_READ_WRITE, remote).absent;
}

/* The table reaches its load at the end of the n inserts of each rank. */
static double pass_new(const bench *b, const void *work, bool remote, uint64_t n) {
    const hash *h = work;
    uint64_t load = h->load * n * (uint64_t)b->ranks / h->keys;
    return looks_at(load < h->load ? (unsigned)load : h->load, TERN_READ_WRITE, remote).there;
}

typedef struct row {
    const char *name;
    tern_flags promise;
    tern_model_operation operation;
    void (*run)(bench *, void *, tern_flags, uint64_t);
    double (*passed)(const bench *, const void *, bool, uint64_t);
    const char *ceiling;
    void (*bare)(bench *, void *, uint64_t);
    bool fresh;
    tern_flags phase;
    double phase_most;
    double (*baseline_ns)(tern_flags, const tern_costs *);
} row;

static const row value_rows[] = {
    {"insert", TERN_READ_WRITE, TERN_MODEL_INSERT, insert, pass_new, "hash, CAS, store",
     bare_insert, true, TERN_WRITE_ONLY, 1.15, NULL},
    {"insert", TERN_WRITE_ONLY, TERN_MODEL_INSERT, insert, pass_new, "hash, CAS, store",
     bare_insert, true, TERN_READ_WRITE, 0, NULL},
    {"update", TERN_READ_WRITE, TERN_MODEL_UPDATE, update, pass_found, NULL, NULL, false,
     TERN_READ_WRITE, 0, NULL},
    {"find", TERN_READ_WRITE, TERN_MODEL_FIND, find, pass_found, "hash, load, compare", bare_find,
     false, TERN_READ_ONLY, 1.3, NULL},
    {"find", TERN_READ_ONLY, TERN_MODEL_FIND, find, pass_still, "hash, load, compare", bare_find,
     false, TERN_READ_WRITE, 0, NULL},
    {"miss", TERN_READ_WRITE, TERN_MODEL_MISS, miss, miss_moving, NULL, NULL, false,
     TERN_READ_WRITE, 0, NULL},
    {"miss", TERN_READ_ONLY, TERN_MODEL_MISS, miss, miss_still, NULL, NULL, false, TERN_READ_WRITE,
     0, NULL},
};
static const row update_many_row = {
    "update_many", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, update_many, NULL, NULL,
    NULL,          false,           TERN_READ_WRITE,       0,           NULL};
static const row classic_rows[] = {
    {"insert", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, baseline_insert, pass_new, NULL, NULL, true,
     TERN_WRITE_ONLY, 0, baseline_insert_ns},
    {"insert", TERN_WRITE_ONLY, TERN_MODEL_OPERATIONS, baseline_insert, pass_new, NULL, NULL, true,
     TERN_READ_WRITE, 0, baseline_insert_ns},
    {"find", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, baseline_find, pass_found, NULL, NULL, false,
     TERN_READ_ONLY, 0, baseline_find_ns},
    {"find", TERN_READ_ONLY, TERN_MODEL_OPERATIONS, baseline_find, pass_still, NULL, NULL, false,
     TERN_READ_WRITE, 0, baseline_find_ns},
};
static const row counter_rows[] = {
    {"add", TERN_READ_WRITE, TERN_MODEL_ADD, add, pass_found, "hash, load, fetch-and-add", bare_add,
     false, TERN_READ_WRITE, 0, NULL},
    {"add_many", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, add_many, NULL,
     "hash, prefetch, fetch-and-add", bare_add_many, false, TERN_READ_WRITE, 0, NULL},
};

static void measure_row(bench *b, const cells *costs, hash *h, const row *r, bench_param param) {
    bool bare = h->bare.buckets > 0 && h->value_bytes == 8 && r->bare != NULL;
    bool finds = r->run == find || r->run == miss;
    cells mine = *costs;
    if (finds && mine.result > 0)
        mine.others.call = mine.result;
    if (r->passed == pass_still || r->passed == miss_still)
        mine.others.get = h->value_bytes > 8 ? mine.others.get : mine.row;
    cell one = {.name = r->name,
                .params = {{"bytes", h->counter ? 8 : h->value_bytes, NULL}, param},
                .promise = r->promise,
                .operation = r->operation,
                .baseline = h->classic ? "classic" : NULL,
                .baseline_ns = r->baseline_ns,
                .own = 1.0 / b->ranks,
                .lasts = r->fresh ? LASTS : 0,
                .rma_alone = finds && h->value_bytes > TERN_RESULT_MAX,
                .work = h,
                .run = r->run,
                .prepare = r->fresh ? fresh_table : NULL,
                .most = r->fresh ? h->keys / (uint64_t)b->ranks : 0,
                .passed = r->passed,
                .phase = r->phase,
                .phase_most = r->phase_most,
                .ceiling = bare ? r->ceiling : NULL,
                .bare = r->bare,
                .bare_prepare = r->fresh ? fresh_bare : NULL};
    cells_measure(b, &mine, &one);
}

/* Measures rows with a table of their own: first those with fresh tables, then those with a full
 * one. */
static void measure_rows(bench *b, const cells *costs, hash *h, const row *rows, size_t count,
                         bench_param param) {
    if (!bench_time_for(b, count))
        return;
    size_t share = (size_t)CELLS_ELEMENTS / (b->options.quick ? 10 : 1);
    size_t most = PART_MAX / (h->value_bytes + 32);
    h->keys = (share < most ? share : most) * (uint64_t)b->ranks;
    h->first = (uint64_t)b->rank;
    h->added = 0;
    cells_draw(b, h->numbers, DRAWN, (uint32_t)h->keys, h->exponent);
    if (h->value_bytes == 8 && param.name == NULL && !h->classic)
        open_bare(b, h);
    create_table(b, h);
    bool filled = false;
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].fresh && !filled) {
            destroy_table(b, h);
            create_table(b, h);
            fill(b, h);
            filled = true;
        }
        measure_row(b, costs, h, &rows[i], param);
    }
    if (h->counter)
        check_added(b, h);
    destroy_table(b, h);
    close_bare(b, h);
    h->bare.buckets = 0;
}

static hash *open_hash(const bench *b) {
    hash *h = calloc(1, sizeof *h);
    if (h != NULL)
        h->numbers = malloc(DRAWN * sizeof *h->numbers);
    if (h == NULL || h->numbers == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    h->random = 77 + (uint64_t)b->rank;
    h->value_bytes = 8;
    h->load = LOAD;
    return h;
}

static void close_hash(hash *h) {
    free(h->numbers);
    free(h);
}

#define ROWS(rows) rows, sizeof rows / sizeof *rows

void containers_hash(bench *b, const cells *costs) {
    hash *h = open_hash(b);
    measure_rows(b, costs, h, value_rows, 7, (bench_param){0});
    h->classic = true;
    measure_rows(b, costs, h, ROWS(classic_rows), (bench_param){0});
    h->classic = false;
    h->counter = 1;
    measure_rows(b, costs, h, ROWS(counter_rows), (bench_param){0});
    close_hash(h);
}

static void measure_sizes(bench *b, const cells *costs, hash *h) {
    static const size_t sizes[] = {64, 512, 1024, CELLS_VALUE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cells larger;
        cells_costs_of(b, costs, sizes[i], &larger);
        h->value_bytes = sizes[i];
        measure_rows(b, &larger, h, value_rows, 4, (bench_param){0});
    }
    h->value_bytes = 8;
}

static void measure_loads(bench *b, const cells *costs, hash *h) {
    static const unsigned loads[] = {50, 80, 90};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        looks l = looks_at(loads[i], TERN_READ_WRITE, false);
        bench_note(b, "load 0.%u: linear probing looks at %.2f buckets for a key, at %.2f in vain",
                   loads[i], 1 + l.there, 1 + l.absent);
        h->load = loads[i];
        measure_rows(b, costs, h, value_rows + 3, 4, (bench_param){"load_percent", loads[i], NULL});
    }
    h->load = LOAD;
}

static void measure(bench *b) {
    cells costs;
    cells_costs(b, &costs);
    containers_hash(b, &costs);
    hash *h = open_hash(b);
    measure_sizes(b, &costs, h);
    h->exponent = 1;
    measure_rows(b, &costs, h, value_rows + 2, 2, (bench_param){"keys", 0, "zipf"});
    h->exponent = 1.2;
    measure_rows(b, &costs, h, &update_many_row, 1, (bench_param){"keys", 0, "zipf1.2"});
    h->exponent = 0;
    measure_rows(b, &costs, h, &update_many_row, 1, (bench_param){0});
    measure_loads(b, &costs, h);
    h->counter = 1;
    h->exponent = 1;
    measure_rows(b, &costs, h, counter_rows, 1, (bench_param){"keys", 0, "zipf"});
    h->exponent = 1.2;
    measure_rows(b, &costs, h, ROWS(counter_rows), (bench_param){"keys", 0, "zipf1.2"});
    close_hash(h);
}

void bench_hash(bench *b) { cells_groups(b, measure); }
