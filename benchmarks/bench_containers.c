/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Containers. On the hash table both ranks operate at the same time, on keys that lie with either
 * of them by chance; the figure is the time of one operation of one rank. The queue lies with the
 * target, and the origin alone pushes and pops. Calls are served by a rank that is in an operation
 * or has nothing else to do: the best case for them.
 */

#include "bench.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum {
    KEYS = 1 << 18,         /* in the table that is searched, and what a fresh one takes */
    BUCKETS = KEYS * 5 / 8, /* of a part of the bare table: the same load */
    ITEMS = 1 << 16,
    BATCH = 1024
};

/* Where both ranks tell each other that they are through with a block. */
typedef struct ending {
    tern_ptr there; /* the other's word */
    uint64_t *here;
    uint64_t blocks;
} ending;

typedef struct work {
    tern_hashtable *table;
    tern_queue *queue;
    ceiling_table bare_table;
    ceiling_queue bare_queue;
    tern_promise promise;
    tern_via via;
    ending *end;
    uint64_t random;
    uint64_t first; /* number of the first key that a block inserts */
    uint64_t added; /* by this rank, over all blocks */
} work;

/* Both ranks leave when both are through; a rank that is serves the other. */
static void end_together(bench *b, ending *end) {
    uint64_t blocks = ++end->blocks;
    bench_ok(tern_put(b->worker, end->there, &blocks, sizeof blocks), "tern_put");
    bench_ok(tern_flush(b->worker, b->other.rank), "tern_flush");
    while (__atomic_load_n(end->here, __ATOMIC_ACQUIRE) < blocks)
        (void)tern_progress(b->worker);
}

/* Hash table. Keys are the mixed numbers, values the numbers. */

static void create_table(bench *b, work *w, int counter) {
    tern_hashtable_options options = {.key_bytes = sizeof(uint64_t),
                                      .value_bytes = counter ? 0 : sizeof(uint64_t),
                                      .counter = counter,
                                      .capacity = KEYS};
    bench_ok(tern_hashtable_create(b->worker, &options, &w->table), "tern_hashtable_create");
}

static void destroy_table(bench *b, work *w) {
    bench_ok(tern_hashtable_destroy(b->worker, w->table), "tern_hashtable_destroy");
    w->table = NULL;
}

static void insert(bench *b, void *state, uint64_t n) {
    work *w = state;
    uint64_t number = w->first;
    for (uint64_t i = 0; i < n; i++, number += 2) {
        uint64_t key = ceiling_mix(number);
        bench_ok(
            tern_hashtable_insert(b->worker, w->table, &key, &number, w->promise, w->via, NULL),
            "tern_hashtable_insert");
    }
    end_together(b, w->end);
}

/* An empty table, and keys that differ from block to block. */
static void fresh_table(bench *b, void *state, uint64_t n) {
    work *w = state;
    destroy_table(b, w);
    create_table(b, w, 0);
    w->first += 2 * n;
}

static void fresh_bare_table(bench *b, void *state, uint64_t n) {
    work *w = state;
    memset(w->bare_table.part[b->rank], 0, BUCKETS * sizeof(ceiling_bucket));
    w->first += 2 * n;
    bench_meet(b);
}

static void bare_insert(bench *b, void *state, uint64_t n) {
    work *w = state;
    ceiling_table_insert(&w->bare_table, w->first, n);
    end_together(b, w->end);
}

static void find(bench *b, void *state, uint64_t n) {
    work *w = state;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = ceiling_random(&w->random, KEYS), key = ceiling_mix(number), value = 0;
        bench_ok(tern_hashtable_find(b->worker, w->table, &key, w->promise, w->via, &value),
                 "tern_hashtable_find");
        if (__builtin_expect(value != number, 0))
            bench_fail("tern_hashtable_find gave another value", TERN_ERR_SYSTEM);
    }
    end_together(b, w->end);
}

static void bare_find(bench *b, void *state, uint64_t n) {
    work *w = state;
    if (ceiling_table_find(&w->bare_table, &w->random, KEYS, n) != 0)
        bench_fail("the bare table gave another value", TERN_ERR_SYSTEM);
    end_together(b, w->end);
}

static void add(bench *b, void *state, uint64_t n) {
    work *w = state;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = ceiling_mix(ceiling_random(&w->random, KEYS));
        bench_ok(tern_hashtable_add(b->worker, w->table, &key, 1, w->promise, w->via, NULL),
                 "tern_hashtable_add");
    }
    w->added += n;
    end_together(b, w->end);
}

static void add_many(bench *b, void *state, uint64_t n) {
    work *w = state;
    uint64_t keys[BATCH];
    w->added += n;
    while (n > 0) {
        size_t count = n < BATCH ? (size_t)n : BATCH;
        for (size_t i = 0; i < count; i++)
            keys[i] = ceiling_mix(ceiling_random(&w->random, KEYS));
        bench_ok(
            tern_hashtable_add_many(b->worker, w->table, keys, count, 1, w->promise, w->via, NULL),
            "tern_hashtable_add_many");
        n -= count;
    }
    end_together(b, w->end);
}

static void bare_add(bench *b, void *state, uint64_t n) {
    work *w = state;
    ceiling_table_add(&w->bare_table, &w->random, KEYS, n);
    end_together(b, w->end);
}

static void bare_add_many(bench *b, void *state, uint64_t n) {
    work *w = state;
    ceiling_table_add_many(&w->bare_table, &w->random, KEYS, n);
    end_together(b, w->end);
}

static int sum_counter(const void *key, const void *value, void *argument) {
    uint64_t count;
    (void)key;
    memcpy(&count, value, sizeof count);
    *(uint64_t *)argument += count;
    return 0;
}

/* Nothing was lost and nothing counted twice. */
static void check_added(bench *b, const work *w) {
    uint64_t mine[2] = {w->added, 0}, all[2];
    bench_ok(tern_hashtable_for_each(b->worker, w->table, sum_counter, &mine[1]),
             "tern_hashtable_for_each");
    bench_mpi(MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, b->comm), "MPI_Allreduce");
    if (all[0] != all[1])
        bench_fail("the counters do not sum up to what was added", TERN_ERR_SYSTEM);
}

static const char *const vias[] = {[TERN_VIA_RMA] = "rma", [TERN_VIA_CALL] = "call"};
static const char *const promises[] = {[TERN_PROMISE_READ_WRITE] = "read_write",
                                       [TERN_PROMISE_WRITE_ONLY] = "write_only",
                                       [TERN_PROMISE_READ_ONLY] = "read_only"};

static bench_case case_of(const char *name, work *w, tern_promise promise, tern_via via) {
    w->promise = promise;
    w->via = via;
    return (bench_case){.name = name,
                        .params = {{"promise", 0, promises[promise]}, {"via", 0, vias[via]}}};
}

static void measure_insert(bench *b, work *w, tern_promise promise, tern_via via) {
    bench_case c = case_of("hash_insert", w, promise, via);
    c.measured = bench_way("tern_hashtable_insert", insert, insert, w);
    c.measured.prepare = fresh_table;
    c.measured.most = KEYS / 2;
    if (b->shared) {
        c.ceiling = bench_way("hash, CAS, store", bare_insert, bare_insert, w);
        c.ceiling.prepare = fresh_bare_table;
        c.ceiling.most = KEYS / 2;
    }
    bench_measure(b, &c);
}

static void measure_on(bench *b, bench_case *c, work *w, const char *name,
                       void (*tern)(bench *, void *, uint64_t), const char *ceiling,
                       void (*bare)(bench *, void *, uint64_t)) {
    c->measured = bench_way(name, tern, tern, w);
    if (b->shared)
        c->ceiling = bench_way(ceiling, bare, bare, w);
    bench_measure(b, c);
}

/* The numbers below KEYS in both tables, half of them by each rank. */
static void fill_tables(bench *b, work *w) {
    if (w->bare_table.part[0] != NULL) {
        memset(w->bare_table.part[b->rank], 0, BUCKETS * sizeof(ceiling_bucket));
        bench_meet(b);
        ceiling_table_insert(&w->bare_table, (uint64_t)b->rank, KEYS / 2);
    }
    for (uint64_t number = (uint64_t)b->rank; number < KEYS; number += 2) {
        uint64_t key = ceiling_mix(number);
        bench_ok(tern_hashtable_insert(b->worker, w->table, &key, &number, TERN_PROMISE_READ_WRITE,
                                       TERN_VIA_RMA, NULL),
                 "tern_hashtable_insert");
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static void hash_table(bench *b, work *w) {
    void *part[2];
    tern_ptr p[2];
    for (int owner = 0; owner < 2; owner++) {
        p[owner] = bench_place(b, owner, BUCKETS * sizeof(ceiling_bucket), &part[owner]);
        w->bare_table.part[owner] = part[owner];
    }
    w->bare_table.buckets = BUCKETS;
    if (!b->shared) /* of which the other's part is out of reach */
        w->bare_table.part[0] = w->bare_table.part[1] = NULL;
    w->first = (uint64_t)b->rank;
    create_table(b, w, 0);
    for (int via = TERN_VIA_RMA; via <= TERN_VIA_CALL; via++) {
        measure_insert(b, w, TERN_PROMISE_READ_WRITE, (tern_via)via);
        measure_insert(b, w, TERN_PROMISE_WRITE_ONLY, (tern_via)via);
    }
    destroy_table(b, w);
    create_table(b, w, 0);
    fill_tables(b, w);
    for (int via = TERN_VIA_RMA; via <= TERN_VIA_CALL; via++)
        for (int phase = 0; phase < 2; phase++) {
            bench_case c =
                case_of("hash_find", w, phase ? TERN_PROMISE_READ_ONLY : TERN_PROMISE_READ_WRITE,
                        (tern_via)via);
            measure_on(b, &c, w, "tern_hashtable_find", find, "hash, load, compare", bare_find);
        }
    destroy_table(b, w);
    create_table(b, w, 1);
    for (int via = TERN_VIA_RMA; via <= TERN_VIA_CALL; via++) {
        bench_case c = case_of("hash_add", w, TERN_PROMISE_READ_WRITE, (tern_via)via);
        measure_on(b, &c, w, "tern_hashtable_add", add, "hash, load, fetch-and-add", bare_add);
        c = case_of("hash_add_many", w, TERN_PROMISE_READ_WRITE, (tern_via)via);
        measure_on(b, &c, w, "tern_hashtable_add_many", add_many, "hash, prefetch, fetch-and-add",
                   bare_add_many);
    }
    check_added(b, w);
    destroy_table(b, w);
    bench_unplace(b, 0, p[0]);
    bench_unplace(b, 1, p[1]);
}

/* Queue. */

static void serve(bench *b, void *state, uint64_t n) {
    (void)n;
    end_together(b, ((work *)state)->end);
}

static void push_items(bench *b, work *w, uint64_t n, tern_via via) {
    for (uint64_t i = 0; i < n; i++)
        bench_ok(tern_queue_push(b->worker, w->queue, &i, w->promise, via), "tern_queue_push");
}

static void pop_items(bench *b, work *w, uint64_t n, tern_via via) {
    for (uint64_t i = 0; i < n; i++) {
        uint64_t item;
        bench_ok(tern_queue_pop(b->worker, w->queue, &item, w->promise, via), "tern_queue_pop");
        if (__builtin_expect(item != i, 0))
            bench_fail("tern_queue_pop gave another item", TERN_ERR_SYSTEM);
    }
}

static void push(bench *b, void *state, uint64_t n) {
    work *w = state;
    push_items(b, w, n, w->via);
    end_together(b, w->end);
}

static void pop(bench *b, void *state, uint64_t n) {
    work *w = state;
    pop_items(b, w, n, w->via);
    end_together(b, w->end);
}

/* The other half of a block, before the clock runs, in a phase of its own. */
static void empty_queue(bench *b, void *state, uint64_t n) {
    work *w = state, emptier = *w;
    uint64_t count = 0;
    (void)n;
    emptier.promise = TERN_PROMISE_READ_WRITE;
    if (b->rank == BENCH_ORIGIN) {
        bench_ok(tern_queue_size(b->worker, w->queue, &count), "tern_queue_size");
        pop_items(b, &emptier, count, TERN_VIA_RMA);
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static void fill_queue(bench *b, void *state, uint64_t n) {
    work *w = state, filler = *w;
    filler.promise = TERN_PROMISE_READ_WRITE;
    if (b->rank == BENCH_ORIGIN)
        push_items(b, &filler, n, TERN_VIA_RMA);
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static void bare_push(bench *b, void *state, uint64_t n) {
    uint64_t item = n;
    (void)b;
    ceiling_queue_push(&((work *)state)->bare_queue, &item, n);
}

static void bare_pop(bench *b, void *state, uint64_t n) {
    (void)b;
    bench_use(ceiling_queue_pop(&((work *)state)->bare_queue, n));
}

static void measure_queue(bench *b, work *w, tern_promise promise, tern_via via, bool pops) {
    bench_case c = case_of(pops ? "queue_pop" : "queue_push", w, promise, via);
    c.measured = pops ? bench_way("tern_queue_pop", pop, serve, w)
                      : bench_way("tern_queue_push", push, serve, w);
    c.measured.prepare = pops ? fill_queue : empty_queue;
    c.measured.most = ITEMS;
    if (b->shared)
        c.ceiling = pops ? bench_way("fetch-and-add, load", bare_pop, NULL, w)
                         : bench_way("fetch-and-add, store", bare_push, NULL, w);
    bench_measure(b, &c);
    empty_queue(b, w, 0);
}

static void queue(bench *b, work *w) {
    const size_t lines = 512, bytes = lines + ITEMS * sizeof(uint64_t);
    tern_queue_options options = {
        .host = BENCH_TARGET, .item_bytes = sizeof(uint64_t), .capacity = ITEMS};
    void *bare;
    tern_ptr p = bench_place(b, BENCH_TARGET, bytes, &bare);
    if (bare != NULL)
        w->bare_queue =
            (ceiling_queue){bare, (uint64_t *)bare + 16, (uint64_t *)bare + lines / 8, ITEMS - 1};
    bench_ok(tern_queue_create(b->worker, &options, &w->queue), "tern_queue_create");
    for (int via = TERN_VIA_RMA; via <= TERN_VIA_CALL; via++) {
        measure_queue(b, w, TERN_PROMISE_READ_WRITE, (tern_via)via, false);
        measure_queue(b, w, TERN_PROMISE_WRITE_ONLY, (tern_via)via, false);
        measure_queue(b, w, TERN_PROMISE_READ_WRITE, (tern_via)via, true);
        measure_queue(b, w, TERN_PROMISE_READ_ONLY, (tern_via)via, true);
    }
    bench_ok(tern_queue_destroy(b->worker, w->queue), "tern_queue_destroy");
    bench_unplace(b, BENCH_TARGET, p);
}

void bench_containers(bench *b) {
    ending end = {.blocks = 0};
    tern_ptr words[2];
    for (int owner = 0; owner < 2; owner++) {
        void *address;
        words[owner] = bench_place(b, owner, sizeof(uint64_t), &address);
        if (owner == b->rank)
            end.here = address;
        else
            end.there = words[owner];
    }
    work w = {.end = &end, .random = 77 + (uint64_t)b->rank};
    hash_table(b, &w);
    queue(b, &w);
    bench_unplace(b, 0, words[0]);
    bench_unplace(b, 1, words[1]);
}
