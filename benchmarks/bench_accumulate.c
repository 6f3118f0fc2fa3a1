/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sums of arrays of doubles in the target's memory, without contention: beside a bare loop of
 * compare-and-swap over shared memory, and MPI_Accumulate with a flush on MPI's fastest window. The
 * figure is the time of one array.
 */

#include "bench.h"
#include "ceilings/ceilings.h"
#include "window.h"

#include <stdlib.h>

enum { COUNT_MAX = 100000 };

typedef struct array {
    tern_ptr p;
    void *address; /* if load and store reach it */
    double *values, *old;
    size_t count;
    bench_window window;
} array;

static void sum(bench *b, void *state, uint64_t n) {
    const array *a = state;
    while (n-- > 0)
        bench_ok(tern_accumulate(b->worker, bench_opaque(a->p), a->values, a->count, TERN_DOUBLE,
                                 TERN_REDUCE_SUM),
                 "tern_accumulate");
}

static void sum_and_get(bench *b, void *state, uint64_t n) {
    const array *a = state;
    while (n-- > 0)
        bench_ok(tern_get_accumulate(b->worker, bench_opaque(a->p), a->values, a->old, a->count,
                                     TERN_DOUBLE, TERN_REDUCE_SUM),
                 "tern_get_accumulate");
}

static void bare_sum(bench *b, void *state, uint64_t n) {
    const array *a = state;
    (void)b;
    ceiling_accumulate(a->address, a->values, a->count, n);
}

static void mpi_sum(bench *b, void *state, uint64_t n) {
    const array *a = state;
    MPI_Win win = a->window.win;
    while (n-- > 0) {
        bench_mpi(MPI_Accumulate(a->values, (int)a->count, MPI_DOUBLE, (int)b->other.rank,
                                 a->window.at, (int)a->count, MPI_DOUBLE, MPI_SUM, win),
                  "MPI_Accumulate");
        bench_mpi(MPI_Win_flush((int)b->other.rank, win), "MPI_Win_flush");
    }
}

static void mpi_sum_and_get(bench *b, void *state, uint64_t n) {
    const array *a = state;
    MPI_Win win = a->window.win;
    while (n-- > 0) {
        bench_mpi(MPI_Get_accumulate(a->values, (int)a->count, MPI_DOUBLE, a->old, (int)a->count,
                                     MPI_DOUBLE, (int)b->other.rank, a->window.at, (int)a->count,
                                     MPI_DOUBLE, MPI_SUM, win),
                  "MPI_Get_accumulate");
        bench_mpi(MPI_Win_flush((int)b->other.rank, win), "MPI_Win_flush");
    }
}

static void measure(bench *b, array *a, bool gets) {
    bench_case c = {.name = gets ? "get_accumulate" : "accumulate",
                    .params = {{"doubles", a->count, NULL}}};
    const bool window = a->window.bytes > 0;
    c.measured = gets ? bench_way("tern_get_accumulate", sum_and_get, NULL, a)
                      : bench_way("tern_accumulate", sum, NULL, a);
    if (b->shared) {
        c.ceiling = bench_way("loop of lock cmpxchg", bare_sum, NULL, a);
        c.ratio_target = a->count == 1000 && !gets ? 1.3 : 0;
    }
    if (window)
        c.peers[c.peer_count++] = (bench_peer){
            gets ? bench_way(bench_window_name(&a->window, "MPI_Get_accumulate + flush"),
                             mpi_sum_and_get, NULL, a)
                 : bench_way(bench_window_name(&a->window, "MPI_Accumulate + flush"), mpi_sum, NULL,
                             a),
            0};
    bench_measure(b, &c);
}

void bench_accumulate(bench *b) {
    static const size_t counts[] = {1, 10, 1000, COUNT_MAX};
    array a = {.values = calloc(COUNT_MAX, sizeof *a.values),
               .old = calloc(COUNT_MAX, sizeof *a.old)};
    if (a.values == NULL || a.old == NULL)
        bench_fail("calloc", TERN_ERR_MEMORY);
    for (size_t i = 0; i < COUNT_MAX; i++)
        a.values[i] = (double)i;
    a.p = bench_place(b, BENCH_TARGET, COUNT_MAX * sizeof *a.values, &a.address);
    bench_window_open(b, &a.window, COUNT_MAX * sizeof *a.values);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        a.count = counts[i];
        measure(b, &a, false);
        measure(b, &a, true);
    }
    bench_window_close(b, &a.window);
    bench_unplace(b, BENCH_TARGET, a.p);
    free(a.old);
    free(a.values);
}
