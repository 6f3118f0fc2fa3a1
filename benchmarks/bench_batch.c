/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Operations on many keys of a hash table at once, beside one by one and beside a bare table in
 * shared memory that does not prefetch. Both ranks operate at the same time on keys that belong to
 * either rank at random. The figure is the time of one key of one rank. The table for searches is
 * larger than the caches.
 */

#include "bench_batch.h"
#include "ceilings/ceilings.h"

enum {
    FRESH = 1 << 18, /* keys that fit a fresh table */
    KEYS = 1 << 21,  /* in the table for searches */
    BATCH = 2048
};

typedef struct work {
    tern_hashtable *table;
    tern_hashtable_buffer *buffer;
    ceiling_table bare;
    uint64_t keys; /* of the table */
    tern_flags path;
    uint64_t random;
    uint64_t first; /* number of the first key that a block inserts */
    bench_ends ends;
} work;

void bench_end_together(bench *b, bench_ends *ends) {
    uint64_t blocks = ++ends->blocks;
    bench_ok(tern_put(b->worker, ends->there, &blocks, sizeof blocks), "tern_put");
    bench_ok(tern_flush(b->worker, b->other.rank), "tern_flush");
    while (__atomic_load_n(ends->here, __ATOMIC_ACQUIRE) < blocks)
        (void)tern_progress(b->worker);
}

static void end_together(bench *b, work *w) { bench_end_together(b, &w->ends); }

static void create_table(bench *b, work *w) {
    tern_hashtable_options options = {.key_bytes = 8, .value_bytes = 8, .capacity = w->keys};
    bench_ok(tern_hashtable_create(b->worker, &options, &w->table), "tern_hashtable_create");
}

static void destroy_table(bench *b, work *w) {
    bench_ok(tern_hashtable_destroy(b->worker, w->table), "tern_hashtable_destroy");
}

static void create_buffer(bench *b, work *w) {
    bench_ok(tern_hashtable_buffer_create(b->worker, w->table, 0, &w->buffer),
             "tern_hashtable_buffer_create");
}

static void destroy_buffer(bench *b, work *w) {
    bench_ok(tern_hashtable_buffer_destroy(b->worker, w->buffer, NULL),
             "tern_hashtable_buffer_destroy");
    w->buffer = NULL;
}

/* Creates a fresh table, with a buffer if the last one had one. */
static void fresh_table(bench *b, void *state, uint64_t n) {
    work *w = state;
    bool buffered = w->buffer != NULL;
    if (buffered)
        destroy_buffer(b, w);
    destroy_table(b, w);
    create_table(b, w);
    if (buffered)
        create_buffer(b, w);
    w->first += 2 * n;
}

static uint64_t bare_bytes(const work *w) { return w->bare.buckets * sizeof(ceiling_bucket); }

static void fresh_bare(bench *b, void *state, uint64_t n) {
    work *w = state;
    memset(w->bare.part[b->rank], 0, bare_bytes(w));
    w->first += 2 * n;
    bench_meet(b);
}

static void insert_many(bench *b, void *state, uint64_t n) {
    work *w = state;
    static uint64_t keys[BATCH], values[BATCH];
    for (uint64_t number = w->first; n > 0;) {
        size_t count = n < BATCH ? (size_t)n : BATCH;
        for (size_t i = 0; i < count; i++, number += 2) {
            keys[i] = ceiling_mix(number);
            values[i] = number;
        }
        bench_ok(
            tern_hashtable_insert_many(b->worker, w->table, keys, values, count, w->path, NULL),
            "tern_hashtable_insert_many");
        n -= count;
    }
    end_together(b, w);
}

static void insert(bench *b, void *state, uint64_t n) {
    work *w = state;
    for (uint64_t number = w->first; n > 0; n--, number += 2) {
        uint64_t key = ceiling_mix(number);
        bench_ok(tern_hashtable_insert(b->worker, w->table, &key, &number, w->path, NULL),
                 "tern_hashtable_insert");
    }
    end_together(b, w);
}

static void insert_buffered(bench *b, void *state, uint64_t n) {
    work *w = state;
    for (uint64_t number = w->first; n > 0; n--, number += 2) {
        uint64_t key = ceiling_mix(number);
        bench_ok(tern_hashtable_buffer_insert(b->worker, w->buffer, &key, &number),
                 "tern_hashtable_buffer_insert");
    }
    bench_ok(tern_hashtable_buffer_flush(b->worker, w->buffer, NULL),
             "tern_hashtable_buffer_flush");
    end_together(b, w);
}

static void bare_insert(bench *b, void *state, uint64_t n) {
    work *w = state;
    ceiling_table_insert(&w->bare, w->first, n);
    end_together(b, w);
}

static void find_many(bench *b, void *state, uint64_t n) {
    work *w = state;
    static uint64_t keys[BATCH], values[BATCH], numbers[BATCH];
    while (n > 0) {
        size_t count = n < BATCH ? (size_t)n : BATCH;
        for (size_t i = 0; i < count; i++) {
            numbers[i] = ceiling_random(&w->random, KEYS);
            keys[i] = ceiling_mix(numbers[i]);
        }
        bench_ok(
            tern_hashtable_find_many(b->worker, w->table, keys, count, w->path, values, NULL, NULL),
            "tern_hashtable_find_many");
        if (__builtin_expect(memcmp(values, numbers, count * sizeof *values) != 0, 0))
            bench_fail("tern_hashtable_find_many gave another value", TERN_ERR_SYSTEM);
        n -= count;
    }
    end_together(b, w);
}

static void find(bench *b, void *state, uint64_t n) {
    work *w = state;
    while (n-- > 0) {
        uint64_t number = ceiling_random(&w->random, KEYS), key = ceiling_mix(number), value = 0;
        bench_ok(tern_hashtable_find(b->worker, w->table, &key, w->path, &value),
                 "tern_hashtable_find");
        if (__builtin_expect(value != number, 0))
            bench_fail("tern_hashtable_find gave another value", TERN_ERR_SYSTEM);
    }
    end_together(b, w);
}

static void bare_find(bench *b, void *state, uint64_t n) {
    work *w = state;
    if (ceiling_table_find(&w->bare, &w->random, KEYS, n) != 0)
        bench_fail("the bare table gave another value", TERN_ERR_SYSTEM);
    end_together(b, w);
}

/* A side on a fresh table, in blocks that fit the table. */
static bench_side filling(const char *name, void (*run)(bench *, void *, uint64_t),
                          void (*prepare)(bench *, void *, uint64_t), work *w) {
    bench_side side = bench_way(name, run, run, w);
    side.prepare = prepare;
    side.most = FRESH / 2;
    return side;
}

static const char *path_name(const work *w) { return w->path == TERN_BY_CALL ? "call" : "rma"; }

/* Where ranks share memory, one by one by call has to take at least four times as long as many at
 * once. */
static void measure_insert(bench *b, work *w, const char *name, const char *what,
                           void (*run)(bench *, void *, uint64_t),
                           void (*prepare)(bench *, void *, uint64_t)) {
    bench_case c = {.name = name,
                    .params = {{"path", 0, path_name(w)}},
                    .measured = filling(what, run, prepare, w),
                    .peer_count = 1};
    if (b->shared)
        c.ceiling = filling("hash, CAS, store", bare_insert, fresh_bare, w);
    c.peers[0].side = filling("tern_hashtable_insert", insert, fresh_table, w);
    c.peers[0].at_least = w->path == TERN_BY_CALL && b->shared ? 4 : 0;
    bench_measure(b, &c);
}

static void measure_find(bench *b, work *w) {
    bench_case c = {.name = "batch_find",
                    .params = {{"path", 0, path_name(w)}},
                    .measured = bench_way("tern_hashtable_find_many", find_many, find_many, w),
                    .peer_count = 1};
    if (b->shared)
        c.ceiling = bench_way("hash, load, compare", bare_find, bare_find, w);
    c.peers[0].side = bench_way("tern_hashtable_find", find, find, w);
    bench_measure(b, &c);
}

static void open_bare(bench *b, work *w, tern_ptr *p) {
    void *part[2];
    w->bare.buckets = w->keys * 5 / 8; /* the same load in each part */
    for (int owner = 0; owner < 2; owner++) {
        p[owner] = bench_place(b, owner, bare_bytes(w), &part[owner]);
        w->bare.part[owner] = part[owner];
    }
}

static void inserts(bench *b, work *w) {
    tern_ptr p[2];
    w->keys = FRESH;
    open_bare(b, w, p);
    create_table(b, w);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        w->path = path;
        measure_insert(b, w, "batch_insert", "tern_hashtable_insert_many", insert_many,
                       fresh_table);
    }
    create_buffer(b, w);
    measure_insert(b, w, "batch_buffered", "tern_hashtable_buffer_insert", insert_buffered,
                   fresh_table);
    destroy_buffer(b, w);
    destroy_table(b, w);
    for (int owner = 0; owner < 2; owner++)
        bench_unplace(b, owner, p[owner]);
}

/* Inserts the numbers below KEYS into both tables, half of them by each rank. */
static void fill(bench *b, work *w) {
    w->first = (uint64_t)b->rank;
    if (b->shared) {
        memset(w->bare.part[b->rank], 0, bare_bytes(w));
        bench_meet(b);
        ceiling_table_insert(&w->bare, w->first, KEYS / 2);
    }
    w->path = TERN_BY_CALL;
    insert_many(b, w, KEYS / 2);
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static void finds(bench *b, work *w) {
    tern_ptr p[2];
    if (!bench_selected(b, "batch_find"))
        return;
    w->keys = KEYS;
    open_bare(b, w, p);
    create_table(b, w);
    fill(b, w);
    for (tern_flags path = TERN_BY_RMA; path <= TERN_BY_CALL; path *= 2) {
        w->path = path;
        measure_find(b, w);
    }
    destroy_table(b, w);
    for (int owner = 0; owner < 2; owner++)
        bench_unplace(b, owner, p[owner]);
}

void bench_batch(bench *b) {
    tern_ptr words[2];
    work w = {.first = (uint64_t)b->rank, .random = 77 + (uint64_t)b->rank};
    for (int owner = 0; owner < 2; owner++) {
        void *address;
        words[owner] = bench_place(b, owner, sizeof(uint64_t), &address);
        if (owner == b->rank)
            w.ends.here = address;
        else
            w.ends.there = words[owner];
    }
    inserts(b, &w);
    finds(b, &w);
    bench_batch_maps(b, &w.ends);
    bench_unplace(b, 0, words[0]);
    bench_unplace(b, 1, words[1]);
}
