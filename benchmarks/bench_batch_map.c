/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Operations on many keys of a map by call, beside one by one, beside requests of which 32 are
 * under way, and beside calls that do nothing, as many of them under way. Both ranks operate at the
 * same time on keys that are there and belong to either rank at random. A key and a value have 8
 * bytes. The figure is the time of one key of one rank.
 */

#include "bench_batch.h"
#include "ceilings/ceilings.h"

enum { KEYS = 1 << 17, BATCH = 2048, UNDER_WAY = 32, CALL_BYTES = 48 };

typedef struct work {
    bench_ends *ends;
    tern_map *map;
    tern_map_buffer *buffer;
    uint64_t random;
    uint64_t keys[BATCH], values[BATCH];
    tern_map_item items[BATCH];
    tern_map_slot slots[BATCH];
    tern_request requests[UNDER_WAY];
} work;

static tern_status bench_nothing(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call, (void)arguments, (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(bench_nothing)

/* Chooses the keys of a batch. Returns how many they are, of n. */
static size_t choose(work *w, uint64_t n) {
    const size_t count = n < BATCH ? (size_t)n : BATCH;
    for (size_t i = 0; i < count; i++) {
        w->keys[i] = ceiling_mix(ceiling_random(&w->random, KEYS));
        w->items[i] = (tern_map_item){&w->keys[i], &w->keys[i], 8, 8};
        w->slots[i] = (tern_map_slot){&w->keys[i], 8, &w->values[i], 8, 0, 0};
    }
    return count;
}

typedef enum way { MANY, ONE, REQUESTS, BUFFER } way;
typedef enum operation { INSERT, FIND, ADD } operation;

static void many(bench *b, work *w, operation what, size_t count) {
    if (what == INSERT)
        bench_ok(tern_map_insert_many(b->worker, w->map, w->items, count, TERN_BY_CALL, NULL),
                 "tern_map_insert_many");
    else if (what == ADD)
        bench_ok(tern_map_add_many(b->worker, w->map, w->items, count, 1, TERN_BY_CALL, NULL),
                 "tern_map_add_many");
    else
        bench_ok(tern_map_find_many(b->worker, w->map, w->slots, count, TERN_BY_CALL, NULL),
                 "tern_map_find_many");
}

static void one(bench *b, work *w, operation what, size_t i) {
    tern_status status =
        what == INSERT
            ? tern_map_insert(b->worker, w->map, &w->keys[i], 8, &w->keys[i], 8, TERN_BY_CALL, NULL)
        : what == ADD ? tern_map_add(b->worker, w->map, &w->keys[i], 8, 1, TERN_BY_CALL, NULL)
                      : tern_map_find(b->worker, w->map, &w->keys[i], 8, TERN_BY_CALL,
                                      &w->values[i], 8, NULL);
    bench_ok(status, "an operation on a map");
}

static void start(bench *b, work *w, operation what, size_t i) {
    tern_request *request = &w->requests[i % UNDER_WAY];
    bench_ok(tern_wait(b->worker, request), "tern_wait");
    tern_status status =
        what == INSERT ? tern_map_insert_start(b->worker, w->map, &w->keys[i], 8, &w->keys[i], 8,
                                               TERN_BY_CALL, request)
        : what == ADD
            ? tern_map_add_start(b->worker, w->map, &w->keys[i], 8, 1, TERN_BY_CALL, request)
            : tern_map_find_start(b->worker, w->map, &w->keys[i], 8, TERN_BY_CALL, &w->values[i], 8,
                                  request);
    bench_ok(status, "a request on a map");
}

static void give(bench *b, work *w, operation what, size_t i) {
    bench_ok(what == INSERT
                 ? tern_map_buffer_insert(b->worker, w->buffer, &w->keys[i], 8, &w->keys[i], 8)
                 : tern_map_buffer_add(b->worker, w->buffer, &w->keys[i], 8, 1),
             "a change by a buffer");
}

static void operate(bench *b, work *w, uint64_t n, operation what, way how) {
    while (n > 0) {
        const size_t count = choose(w, n);
        if (how == MANY)
            many(b, w, what, count);
        for (size_t i = 0; how != MANY && i < count; i++)
            (how == ONE ? one : how == REQUESTS ? start : give)(b, w, what, i);
        n -= count;
    }
    if (how == REQUESTS)
        bench_ok(tern_wait_all(b->worker, w->requests, UNDER_WAY), "tern_wait_all");
    if (how == BUFFER)
        bench_ok(tern_map_buffer_flush(b->worker, w->buffer, NULL), "tern_map_buffer_flush");
    bench_end_together(b, w->ends);
}

static void insert_many(bench *b, void *w, uint64_t n) { operate(b, w, n, INSERT, MANY); }
static void insert_one(bench *b, void *w, uint64_t n) { operate(b, w, n, INSERT, ONE); }
static void insert_start(bench *b, void *w, uint64_t n) { operate(b, w, n, INSERT, REQUESTS); }
static void insert_give(bench *b, void *w, uint64_t n) { operate(b, w, n, INSERT, BUFFER); }
static void find_many(bench *b, void *w, uint64_t n) { operate(b, w, n, FIND, MANY); }
static void find_one(bench *b, void *w, uint64_t n) { operate(b, w, n, FIND, ONE); }
static void find_start(bench *b, void *w, uint64_t n) { operate(b, w, n, FIND, REQUESTS); }
static void add_many(bench *b, void *w, uint64_t n) { operate(b, w, n, ADD, MANY); }
static void add_one(bench *b, void *w, uint64_t n) { operate(b, w, n, ADD, ONE); }
static void add_start(bench *b, void *w, uint64_t n) { operate(b, w, n, ADD, REQUESTS); }
static void add_give(bench *b, void *w, uint64_t n) { operate(b, w, n, ADD, BUFFER); }

/* Half of the keys are the other rank's, so a key costs half a call. */
static void calls(bench *b, void *state, uint64_t n) {
    work *w = state;
    char arguments[CALL_BYTES] = {0};
    for (uint64_t i = 0; i < n; i += 2) {
        tern_request *request = &w->requests[i / 2 % UNDER_WAY];
        bench_ok(tern_wait(b->worker, request), "tern_wait");
        bench_ok(tern_call_start(b->worker, b->other, &bench_nothing_function, arguments,
                                 sizeof arguments, NULL, 0, request),
                 "tern_call_start");
    }
    bench_ok(tern_wait_all(b->worker, w->requests, UNDER_WAY), "tern_wait_all");
    bench_end_together(b, w->ends);
}

/* One by one has to take at least one and a half times as long where ranks share memory. */
static void measure(bench *b, work *w, const char *name, const char *what,
                    void (*run)(bench *, void *, uint64_t),
                    void (*single)(bench *, void *, uint64_t),
                    void (*started)(bench *, void *, uint64_t)) {
    bench_case c = {.name = name,
                    .measured = bench_way(what, run, run, w),
                    .ceiling = bench_way("calls that do nothing, 32 under way", calls, calls, w),
                    .peer_count = 2};
    c.peers[0].side = bench_way("one by one", single, single, w);
    c.peers[0].at_least = b->shared ? 1.5 : 0;
    c.peers[1].side = bench_way("requests, 32 under way", started, started, w);
    bench_measure(b, &c);
}

void bench_batch_maps(bench *b, bench_ends *ends) {
    static work w;
    w.ends = ends;
    w.random = 78 + (uint64_t)b->rank;
    if (!bench_selected(b, "batch_map_insert") && !bench_selected(b, "batch_map_find") &&
        !bench_selected(b, "batch_map_add") && !bench_selected(b, "batch_map_buffered_insert") &&
        !bench_selected(b, "batch_map_buffered_add"))
        return;
    bench_ok(tern_map_create(b->worker, &(tern_map_options){.capacity = KEYS}, &w.map),
             "tern_map_create");
    for (uint64_t number = (uint64_t)b->rank; number < KEYS; number += 2) {
        const uint64_t key = ceiling_mix(number);
        bench_ok(tern_map_insert(b->worker, w.map, &key, 8, &key, 8, 0, NULL), "tern_map_insert");
    }
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    bench_ok(tern_map_buffer_create(b->worker, w.map, 0, &w.buffer), "tern_map_buffer_create");
    measure(b, &w, "batch_map_insert", "tern_map_insert_many", insert_many, insert_one,
            insert_start);
    measure(b, &w, "batch_map_find", "tern_map_find_many", find_many, find_one, find_start);
    measure(b, &w, "batch_map_add", "tern_map_add_many", add_many, add_one, add_start);
    measure(b, &w, "batch_map_buffered_insert", "tern_map_buffer_insert", insert_give, insert_one,
            insert_start);
    measure(b, &w, "batch_map_buffered_add", "tern_map_buffer_add", add_give, add_one, add_start);
    bench_ok(tern_map_buffer_destroy(b->worker, w.buffer, NULL), "tern_map_buffer_destroy");
    bench_ok(tern_map_destroy(b->worker, w.map), "tern_map_destroy");
}
