/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Components (paper 003, figure 3): gets and puts of 4 bytes, atomics and calls with a payload of
 * 8, by all ranks at the same time, each to a random place of a random rank: the own one, the
 * others or, as in the figure, all. Then gets, puts and calls of larger values. And two bare units
 * of this machine: the processor's fetch-and-add, and a load that misses its caches.
 *
 * The model adds up the times for which an operation waits. A stream of puts has to wait for its
 * target in the end; one put between two atomics does not. So the cost of a put is what it adds to
 * an atomic. Ranks that do nothing but call each other fall into step, since each serves while it
 * waits. Ranks that also work on their own part, as containers do, have to wait for each other.
 */

#include "cells.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum {
    STRIDE = 32, /* of elements, as in buckets */
    AREA = (CELLS_ELEMENTS + 2) * STRIDE,
    SMALL = 4,    /* bytes of the paper's gets and puts, */
    PAYLOAD = 8,  /* and of its calls */
    MESSAGE = 40, /* of a container's call with a small key and value, */
    ANSWER = 8,   /* of its result, */
    ROW = 512,    /* and of a get of several buckets */
    CHAIN = 64 << 20
};

typedef enum towards { OWN, OTHERS, ALL } towards;
static const char *const names[] = {[OWN] = "own", [OTHERS] = "others", [ALL] = "all"};

typedef struct field {
    tern_ptr *area; /* of each rank: a word that all ranks use, and then its elements */
    towards towards;
    size_t bytes;       /* of a get or put */
    size_t there, back; /* of a call's arguments and of its result */
    uint64_t random;
    char *chain;
    uint64_t cursor, word;
    advice_figure widest; /* of the components that costs are computed from */
    char data[CELLS_VALUE_MAX + MESSAGE];
} field;

static tern_status bench_components_nothing(tern_call_info *call, const void *arguments,
                                            size_t bytes) {
    uint64_t results;
    if (bytes < sizeof results)
        return TERN_ERR_ARGUMENT;
    memcpy(&results, arguments, sizeof results);
    call->result_bytes = results <= TERN_RESULT_MAX ? (size_t)results : 0;
    memset(call->result, 1, call->result_bytes);
    return TERN_OK;
}
TERN_FUNCTION(bench_components_nothing)

static uint32_t any_rank(const bench *b, field *f) {
    if (f->towards == ALL)
        return (uint32_t)ceiling_random(&f->random, (uint64_t)b->ranks);
    if (f->towards == OWN || b->ranks == 1)
        return (uint32_t)b->rank;
    uint64_t step = 1 + ceiling_random(&f->random, (uint64_t)b->ranks - 1);
    return (uint32_t)(((uint64_t)b->rank + step) % (uint64_t)b->ranks);
}

static tern_ptr any_place(const bench *b, field *f) {
    uint64_t elements = f->bytes > STRIDE ? AREA / f->bytes - 3 : CELLS_ELEMENTS;
    uint64_t apart = f->bytes > STRIDE ? f->bytes : STRIDE;
    uint64_t element = 2 + ceiling_random(&f->random, elements);
    return bench_opaque(tern_ptr_add(f->area[any_rank(b, f)], (int64_t)(element * apart)));
}

static void get(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (; n > 0; n--)
        bench_ok(tern_get(b->worker, f->data, any_place(b, f), f->bytes), "tern_get");
    cells_end(b);
}

static void put(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (; n > 0; n--)
        bench_ok(tern_put(b->worker, any_place(b, f), f->data, f->bytes), "tern_put");
    cells_end(b);
}

static void put_flush(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (; n > 0; n--) {
        tern_ptr p = any_place(b, f);
        bench_ok(tern_put(b->worker, p, f->data, f->bytes), "tern_put");
        bench_ok(tern_flush(b->worker, p.rank), "tern_flush");
    }
    cells_end(b);
}

static void fetch_add(bench *b, void *state, uint64_t n) {
    for (uint64_t seen; n > 0; n--)
        bench_ok(tern_atomic_fetch_add(b->worker, any_place(b, state), 1, &seen),
                 "tern_atomic_fetch_add");
    cells_end(b);
}

/* A put to a place beside the word, as in an insert or a push. */
static void fetch_add_put(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (uint64_t seen; n > 0; n--) {
        tern_ptr p = any_place(b, f);
        bench_ok(tern_atomic_fetch_add(b->worker, p, 1, &seen), "tern_atomic_fetch_add");
        bench_ok(tern_put(b->worker, tern_ptr_add(p, 8), f->data, f->bytes), "tern_put");
    }
    cells_end(b);
}

static void fetch_add_one(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (uint64_t seen; n > 0; n--)
        bench_ok(tern_atomic_fetch_add(b->worker, bench_opaque(f->area[any_rank(b, f)]), 1, &seen),
                 "tern_atomic_fetch_add");
    cells_end(b);
}

static void cas(bench *b, void *state, uint64_t n) {
    for (uint64_t seen; n > 0; n--)
        bench_ok(tern_atomic_cas(b->worker, any_place(b, state), 0, 1, &seen), "tern_atomic_cas");
    cells_end(b);
}

/* Repeats the CAS until it succeeds. */
static void cas_persistent(bench *b, void *state, uint64_t n) {
    for (; n > 0; n--) {
        tern_ptr p = any_place(b, state);
        uint64_t expected = 0, seen = 0;
        for (;; expected = seen) {
            bench_ok(tern_atomic_cas(b->worker, p, expected, expected + 1, &seen),
                     "tern_atomic_cas");
            if (seen == expected)
                break;
        }
    }
    cells_end(b);
}

static void call_one(bench *b, field *f, uint32_t rank) {
    const uint64_t results = f->back;
    memcpy(f->data, &results, sizeof results);
    bench_ok(tern_call_return(b->worker, (tern_worker_id){rank, 0},
                              &bench_components_nothing_function, f->data, f->there, f->data,
                              f->back, NULL),
             "tern_call_return");
}

static void call_return(bench *b, void *state, uint64_t n) {
    for (; n > 0; n--)
        call_one(b, state, any_rank(b, state));
    cells_end(b);
}

/* A call to the own rank is a round of progress. */
static void call_others(bench *b, void *state, uint64_t n) {
    for (; n > 0; n--) {
        uint32_t rank = any_rank(b, state);
        if (rank == (uint32_t)b->rank)
            (void)tern_progress(b->worker);
        else
            call_one(b, state, rank);
    }
    cells_end(b);
}

/* The cost of serving others for a rank that has nothing to ask of them. */
static void progress(bench *b, void *state, uint64_t n) {
    (void)state;
    for (; n > 0; n--)
        (void)tern_progress(b->worker);
    cells_end(b);
}

static void bare_fetch_add(bench *b, void *state, uint64_t n) {
    (void)b;
    bench_use(ceiling_fetch_add(&((field *)state)->word, n));
}

static void bare_missing_load(bench *b, void *state, uint64_t n) {
    field *f = state;
    (void)b;
    f->cursor = ceiling_load_chain(f->chain, f->cursor, n);
}

static double median_of(const bench_times *t) {
    return t == NULL ? 0 : bench_median(t->measured, t->pairs);
}

/* Measures one from which no cost is computed. */
static const bench_times *show(bench *b, field *f, const char *name, size_t bytes,
                               void (*run)(bench *, void *, uint64_t)) {
    bench_case c = {.name = name,
                    .params = {{"of", 0, names[f->towards]}, {"bytes", bytes, NULL}},
                    .least = b->options.operations};
    c.measured = bench_way(name, run, run, f);
    f->bytes = bytes;
    bench_meet(b);
    return bench_measure(b, &c);
}

static double component(bench *b, field *f, const char *name, size_t bytes,
                        void (*run)(bench *, void *, uint64_t)) {
    const bench_times *t = show(b, f, name, bytes, run);
    char whole[48];
    if (t == NULL)
        return 0;
    snprintf(whole, sizeof whole, "%s, of %s", name, names[f->towards]);
    const advice_figure figure = advice_figure_of(whole, t->measured, t->pairs);
    if (f->widest.ns == 0 || figure.spread > f->widest.spread)
        f->widest = figure;
    return figure.ns;
}

static double unit(bench *b, field *f, const char *name, void (*run)(bench *, void *, uint64_t)) {
    bench_case c = {.name = name};
    c.measured = bench_way(name, run, NULL, f);
    return median_of(bench_measure(b, &c));
}

static double above(double more, double less) { return more > less ? more - less : 0; }

/* Gets and puts of so many bytes; the cost of fetch is known. */
static void moves(bench *b, field *f, size_t bytes, tern_costs *costs) {
    costs->get = component(b, f, "get", bytes, get);
    double complete = component(b, f, "put_flush", bytes, put_flush);
    costs->put = above(component(b, f, "fetch_add, put", bytes, fetch_add_put), costs->fetch);
    costs->flush = above(complete, costs->put);
}

static void atomics(bench *b, field *f, tern_costs *costs) {
    costs->cas = component(b, f, "compare_and_swap", 8, cas);
    (void)show(b, f, "compare_and_swap, persistent", 8, cas_persistent);
    costs->fetch = component(b, f, "fetch_add", 8, fetch_add);
    costs->hot = component(b, f, "fetch_add, one word", 8, fetch_add_one);
}

/* Calls of so many bytes there and back. Returns the cost of one to another rank, from the cost
 * towards all ranks and that of progress. */
static double calls(bench *b, field *f, size_t there, size_t back, double progress_ns) {
    f->towards = ALL;
    f->there = there;
    f->back = back;
    double all = component(b, f, back > ANSWER ? "call or own, result" : "call or own",
                           back > ANSWER ? back : there, call_others);
    /* On a crowded machine the progress that is taken off may be slower than all of it. */
    return b->ranks == 1 ? 0 : above(all * b->ranks, progress_ns) / (b->ranks - 1);
}

static void measure_towards(bench *b, field *f, towards towards, tern_costs *costs) {
    *costs = (tern_costs){0};
    f->towards = towards;
    atomics(b, f, costs);
    (void)show(b, f, "put", SMALL, put);
    moves(b, f, SMALL, costs);
    f->there = PAYLOAD;
    f->back = 0;
    if (towards != OWN)
        (void)show(b, f, "call_return", PAYLOAD, call_return);
}

static field *open_field(bench *b) {
    field *f = calloc(1, sizeof *f);
    if (f == NULL || (f->area = calloc((size_t)b->ranks, sizeof *f->area)) == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    tern_ptr mine;
    f->random = 5 + (uint64_t)b->rank;
    bench_ok(tern_alloc(b->worker, AREA, 0, TERN_DOMAIN_GLOBAL, &mine), "tern_alloc");
    memset(tern_local(b->context, mine), 0, AREA);
    bench_meet(b);
    tern_mpi_lock(); /* service threads use MPI, too */
    bench_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, f->area, sizeof mine, MPI_BYTE, b->comm),
              "MPI_Allgather");
    tern_mpi_unlock();
    return f;
}

static void close_field(bench *b, field *f) {
    bench_meet(b);
    bench_ok(tern_free(b->worker, f->area[b->rank]), "tern_free");
    free(f->area);
    free(f);
}

static void measure_units(bench *b, field *f) {
    f->chain = b->rank == BENCH_ORIGIN ? malloc(CHAIN) : NULL;
    if (b->rank == BENCH_ORIGIN && f->chain == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    if (f->chain != NULL)
        ceiling_chain_make((uint64_t *)(void *)f->chain, CHAIN, 0);
    b->fetch_add_ns = unit(b, f, "unit: fetch_add", bare_fetch_add);
    b->missing_load_ns = unit(b, f, "unit: missing_load", bare_missing_load);
    free(f->chain);
}

void cells_costs(bench *b, cells *costs) {
    field *f = open_field(b);
    const bench before = *b;
    *costs = (cells){.progress = 0};
    b->options.only = NULL;
    b->published = false;
    measure_units(b, f);
    measure_towards(b, f, OWN, &costs->own);
    measure_towards(b, f, OTHERS, &costs->others);
    costs->row = component(b, f, "get", ROW, get);
    costs->progress = component(b, f, "progress", 0, progress);
    costs->others.call = calls(b, f, MESSAGE, ANSWER, costs->progress);
    /* Ranks that share memory share the words that all use, so the words are in the cache of one or
     * another. */
    f->towards = ALL;
    double hot = component(b, f, "fetch_add, one word", 8, fetch_add_one);
    if (b->shared)
        costs->own.hot = costs->others.hot = hot;
    tern_transport transport = TERN_SHM;
    tern_costs guess = {0};
    const uint32_t other = (uint32_t)((b->rank + 1) % b->ranks);
    if (!b->shared && tern_context_transport(b->context, other, &transport) == TERN_OK)
        tern_costs_guess(transport, &guess);
    costs->others.store = guess.store > 0 ? costs->others.cas : 0;
    b->options.only = before.options.only;
    b->published = before.published;
    costs->widest = f->widest;
    close_field(b, f);
}

void cells_figure(bench *b) {
    tern_costs ignored;
    field *f = open_field(b);
    measure_towards(b, f, ALL, &ignored);
    close_field(b, f);
}

void cells_costs_of(bench *b, const cells *costs, size_t bytes, cells *larger) {
    field *f = open_field(b);
    const char *only = b->options.only;
    b->options.only = NULL;
    *larger = *costs;
    f->towards = OWN;
    moves(b, f, bytes, &larger->own);
    f->towards = OTHERS;
    moves(b, f, bytes, &larger->others);
    larger->others.call = calls(b, f, MESSAGE + bytes, ANSWER, costs->progress);
    larger->result = bytes > TERN_RESULT_MAX ? 0 : calls(b, f, MESSAGE, bytes, costs->progress);
    b->options.only = only;
    close_field(b, f);
}
