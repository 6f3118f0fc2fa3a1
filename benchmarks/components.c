/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Components (paper 003, figure 3): gets and puts of 4 bytes, atomics and calls with a payload of
 * 8, by all ranks at once, each to a random place of a random rank: of the own one, or of the
 * others. And two bare units of this machine: the processor's fetch-and-add, and a load that misses
 * its caches.
 */

#include "cells.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum { STRIDE = 32 /* of elements, as buckets have */, CHAIN = 64 << 20 };

typedef struct field {
    tern_ptr *area; /* of each rank: a word that all use, and then its elements */
    bool own, all;  /* towards the own rank, towards all; else towards the others */
    uint64_t random;
    char *chain;
    uint64_t cursor, word;
} field;

static tern_status bench_components_nothing(tern_call_info *call, const void *arguments,
                                            size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    return TERN_OK;
}
TERN_FUNCTION(bench_components_nothing)

static uint32_t any_rank(const bench *b, field *f) {
    if (f->all)
        return (uint32_t)ceiling_random(&f->random, (uint64_t)b->ranks);
    if (f->own || b->ranks == 1)
        return (uint32_t)b->rank;
    uint64_t step = 1 + ceiling_random(&f->random, (uint64_t)b->ranks - 1);
    return (uint32_t)(((uint64_t)b->rank + step) % (uint64_t)b->ranks);
}

static tern_ptr any_place(const bench *b, field *f) {
    uint64_t element = 2 + ceiling_random(&f->random, CELLS_ELEMENTS);
    return bench_opaque(tern_ptr_add(f->area[any_rank(b, f)], (int64_t)(element * STRIDE)));
}

static void get(bench *b, void *state, uint64_t n) {
    for (uint32_t word; n > 0; n--)
        bench_ok(tern_get(b->worker, &word, any_place(b, state), sizeof word), "tern_get");
    cells_end(b);
}

static void put(bench *b, void *state, uint64_t n) {
    for (uint32_t word = 1; n > 0; n--)
        bench_ok(tern_put(b->worker, any_place(b, state), &word, sizeof word), "tern_put");
    cells_end(b);
}

static void put_flush(bench *b, void *state, uint64_t n) {
    for (uint32_t word = 1; n > 0; n--) {
        tern_ptr p = any_place(b, state);
        bench_ok(tern_put(b->worker, p, &word, sizeof word), "tern_put");
        bench_ok(tern_flush(b->worker, p.rank), "tern_flush");
    }
    cells_end(b);
}

static void cas(bench *b, void *state, uint64_t n) {
    for (uint64_t seen; n > 0; n--)
        bench_ok(tern_atomic_cas(b->worker, any_place(b, state), 0, 1, &seen), "tern_atomic_cas");
    cells_end(b);
}

/* Until it succeeds. */
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

static void fetch_add(bench *b, void *state, uint64_t n) {
    for (uint64_t seen; n > 0; n--)
        bench_ok(tern_atomic_fetch_add(b->worker, any_place(b, state), 1, &seen),
                 "tern_atomic_fetch_add");
    cells_end(b);
}

static void fetch_add_one(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (uint64_t seen; n > 0; n--)
        bench_ok(tern_atomic_fetch_add(b->worker, bench_opaque(f->area[any_rank(b, f)]), 1, &seen),
                 "tern_atomic_fetch_add");
    cells_end(b);
}

static void call_return(bench *b, void *state, uint64_t n) {
    for (; n > 0; n--) {
        size_t got;
        bench_ok(tern_call_return(b->worker, (tern_worker_id){any_rank(b, state), 0},
                                  &bench_components_nothing_function, &n, sizeof n, NULL, 0, &got),
                 "tern_call_return");
    }
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

static double component(bench *b, field *f, const char *name,
                        void (*run)(bench *, void *, uint64_t)) {
    bench_case c = {.name = name,
                    .params = {{"of", 0,
                                f->all   ? "all"
                                : f->own ? "own"
                                         : "others"}}};
    c.measured = bench_way(name, run, run, f);
    bench_meet(b);
    return median_of(bench_measure(b, &c));
}

static double unit(bench *b, field *f, const char *name, void (*run)(bench *, void *, uint64_t)) {
    bench_case c = {.name = name};
    c.measured = bench_way(name, run, NULL, f);
    return median_of(bench_measure(b, &c));
}

static void towards(bench *b, field *f, bool own, tern_costs *costs) {
    f->own = own;
    costs->get = component(b, f, "get", get);
    costs->put = component(b, f, "put", put);
    double complete = component(b, f, "put_flush", put_flush);
    costs->flush = complete > costs->put ? complete - costs->put : 0;
    costs->cas = component(b, f, "compare_and_swap", cas);
    (void)component(b, f, "compare_and_swap, persistent", cas_persistent);
    costs->fetch = component(b, f, "fetch_add", fetch_add);
    costs->call = own ? 0 : component(b, f, "call_return", call_return);
}

void cells_costs(bench *b, cells *costs) {
    const size_t bytes = (size_t)(CELLS_ELEMENTS + 2) * STRIDE;
    const char *only = b->options.only;
    field f = {.area = calloc((size_t)b->ranks, sizeof *f.area), .random = 5 + (uint64_t)b->rank};
    f.chain = b->rank == BENCH_ORIGIN ? malloc(CHAIN) : NULL;
    if (f.area == NULL || (b->rank == BENCH_ORIGIN && f.chain == NULL))
        bench_fail("malloc", TERN_ERR_MEMORY);
    if (f.chain != NULL)
        ceiling_chain_make((uint64_t *)(void *)f.chain, CHAIN, 0);
    tern_ptr mine;
    bench_ok(tern_alloc(b->worker, bytes, 0, TERN_DOMAIN_GLOBAL, &mine), "tern_alloc");
    memset(tern_local(b->context, mine), 0, bytes);
    bench_meet(b);
    bench_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, f.area, sizeof mine, MPI_BYTE, b->comm),
              "MPI_Allgather");
    b->options.only = NULL;
    costs->fetch_add = unit(b, &f, "unit: fetch_add", bare_fetch_add);
    costs->missing_load = unit(b, &f, "unit: missing_load", bare_missing_load);
    towards(b, &f, true, &costs->own);
    towards(b, &f, false, &costs->others);
    f.all = true;
    costs->own.hot = costs->others.hot = component(b, &f, "fetch_add, one word", fetch_add_one);
    b->options.only = only;
    bench_meet(b);
    bench_ok(tern_free(b->worker, mine), "tern_free");
    free(f.chain);
    free(f.area);
}
