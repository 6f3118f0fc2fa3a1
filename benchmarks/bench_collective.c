/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Collectives of the team of all ranks beside MPI's, by ranks and by length. Broadcasts come from
 * each rank in turn, so no root runs ahead of the others. Data lies in private memory. Two ranks
 * that share memory also meet by bare flags, and compute while an all-reduce is under way.
 */

#include "bench.h"

#include "ceilings/wait.h"

#include <stdlib.h>

typedef struct together {
    MPI_Comm comm; /* of MPI's sides */
    size_t bytes;
    char *data;
    uint64_t *flag[2]; /* of two ranks: each a word in the rank's segment, which the other stores */
    uint64_t met;
    double computing; /* ns */
} together;

static void barrier(bench *b, void *state, uint64_t n) {
    (void)state;
    while (n-- > 0)
        bench_ok(tern_team_barrier(b->worker, NULL), "tern_team_barrier");
}

static void mpi_barrier(bench *b, void *state, uint64_t n) {
    const together *s = state;
    (void)b;
    while (n-- > 0)
        bench_mpi(MPI_Barrier(s->comm), "MPI_Barrier");
}

static void broadcast(bench *b, void *state, uint64_t n) {
    const together *s = state;
    for (uint64_t i = 0; i < n; i++)
        bench_ok(tern_team_broadcast(b->worker, NULL, (uint32_t)(i % (uint64_t)b->ranks), s->data,
                                     s->bytes),
                 "tern_team_broadcast");
}

static void mpi_broadcast(bench *b, void *state, uint64_t n) {
    const together *s = state;
    for (uint64_t i = 0; i < n; i++)
        bench_mpi(
            MPI_Bcast(s->data, (int)s->bytes, MPI_BYTE, (int)(i % (uint64_t)b->ranks), s->comm),
            "MPI_Bcast");
}

static void allreduce(bench *b, void *state, uint64_t n) {
    const together *s = state;
    while (n-- > 0)
        bench_ok(tern_team_allreduce(b->worker, NULL, TERN_INT64, TERN_REDUCE_SUM, s->data,
                                     s->bytes / 8),
                 "tern_team_allreduce");
}

static void mpi_allreduce(bench *b, void *state, uint64_t n) {
    const together *s = state;
    (void)b;
    while (n-- > 0)
        bench_mpi(MPI_Allreduce(MPI_IN_PLACE, s->data, (int)(s->bytes / 8), MPI_INT64_T, MPI_SUM,
                                s->comm),
                  "MPI_Allreduce");
}

static void flags_barrier(bench *b, void *state, uint64_t n) {
    together *s = state;
    while (n-- > 0) {
        __atomic_store_n(s->flag[1 - b->rank], ++s->met, __ATOMIC_RELEASE);
        for (unsigned looks = 1; __atomic_load_n(s->flag[b->rank], __ATOMIC_ACQUIRE) < s->met;)
            ceiling_wait(looks++);
    }
}

/* Some 10 us of floating-point work. */
static void compute_slice(void) {
    double x = 2;
    for (int i = 0; i < 4000; i++)
        x = x * 0.999 + 0.001;
    __asm__ volatile("" : : "x"(x));
}

/* Computes, and makes progress now and then, as a program does that has something under way. */
static void compute(bench *b, double ns) {
    for (const double end = bench_now() + ns; bench_now() < end;) {
        compute_slice();
        (void)tern_progress(b->worker);
    }
}

static void compute_alone(bench *b, void *state, uint64_t n) {
    const together *s = state;
    while (n-- > 0)
        compute(b, s->computing);
}

static void compute_meanwhile(bench *b, void *state, uint64_t n) {
    const together *s = state;
    while (n-- > 0) {
        tern_request request = {0};
        bench_ok(tern_team_allreduce_start(b->worker, NULL, TERN_INT64, TERN_REDUCE_SUM, s->data,
                                           s->bytes / 8, &request),
                 "tern_team_allreduce_start");
        compute(b, s->computing);
        bench_ok(tern_wait(b->worker, &request), "tern_wait");
    }
}

static void compute_before(bench *b, void *state, uint64_t n) {
    const together *s = state;
    while (n-- > 0) {
        compute(b, s->computing);
        allreduce(b, state, 1);
    }
}

static bool has_targets(const bench *b) { return b->ranks == 2 && b->shared && !bench_crowded(b); }

/* All ranks do the same, so origin and target of a side are one function. */
static void measure(bench *b, together *s, const char *name, size_t bytes, const char *tern_name,
                    void (*tern)(bench *, void *, uint64_t), const char *mpi_name,
                    void (*mpi)(bench *, void *, uint64_t)) {
    s->bytes = bytes;
    memset(s->data, 0, bytes); /* sums stay small */
    bench_case c = {.name = name,
                    .params = {{"ranks", (uint64_t)b->ranks, NULL}, {"bytes", bytes, NULL}},
                    .measured = bench_way(tern_name, tern, tern, s),
                    .ceiling = bench_way(mpi_name, mpi, mpi, s),
                    .ratio_target = has_targets(b) ? 1.05 : 0};
    bench_measure(b, &c);
}

static void measure_barrier(bench *b, together *s) {
    bench_case c = {.name = "barrier",
                    .params = {{"ranks", (uint64_t)b->ranks, NULL}},
                    .measured = bench_way("tern_team_barrier", barrier, barrier, s),
                    .ceiling = bench_way("MPI_Barrier", mpi_barrier, mpi_barrier, s)};
    tern_ptr word[2] = {TERN_NULL, TERN_NULL};
    if (b->ranks == 2 && b->shared) {
        for (int r = 0; r < 2; r++)
            word[r] = bench_place(b, r, 4096, (void **)&s->flag[r]);
        c.peers[c.peer_count++].side = c.ceiling;
        c.ceiling = bench_way("bare flags", flags_barrier, flags_barrier, s);
        c.ratio_target = has_targets(b) ? 2 : 0;
    }
    bench_measure(b, &c);
    for (int r = 0; r < 2 && s->flag[r] != NULL; r++)
        bench_unplace(b, r, word[r]);
}

/* Computes for about as long as the all-reduce takes by itself, so nothing hidden is a ratio of 2
 * and nine tenths are 1.1. */
static void measure_overlap(bench *b, together *s, size_t bytes) {
    s->bytes = bytes;
    memset(s->data, 0, bytes);
    const double begun = bench_now();
    allreduce(b, s, 10);
    s->computing = (bench_now() - begun) / 10;
    bench_mpi(MPI_Allreduce(MPI_IN_PLACE, &s->computing, 1, MPI_DOUBLE, MPI_MAX, s->comm),
              "MPI_Allreduce");
    bench_case c = {
        .name = "overlap",
        .params = {{"ranks", (uint64_t)b->ranks, NULL}, {"bytes", bytes, NULL}},
        .measured = bench_way("tern_team_allreduce_start", compute_meanwhile, compute_meanwhile, s),
        .ceiling = bench_way("computing alone", compute_alone, compute_alone, s),
        .ratio_target = has_targets(b) ? 1.1 : 0};
    c.peers[c.peer_count++].side =
        bench_way("computing, then tern_team_allreduce", compute_before, compute_before, s);
    bench_measure(b, &c);
}

static void measure_all(bench *own) {
    static const size_t all[] = {8,        64,       512,       1 << 10, 2 << 10, 4 << 10,
                                 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    static const size_t few[] = {8, 1 << 10, 16 << 10, 256 << 10};
    const bench_sizes sweep = bench_sweep(own, BENCH_SIZES(all), BENCH_SIZES(few));
    together s = {.data = calloc(1, sweep.bytes[sweep.count - 1])};
    if (s.data == NULL)
        bench_fail("no memory for vectors", TERN_ERR_MEMORY);
    bench_mpi(MPI_Comm_dup(own->comm, &s.comm), "MPI_Comm_dup");
    measure_barrier(own, &s);
    for (size_t i = 0; i < sweep.count; i++)
        measure(own, &s, "broadcast", sweep.bytes[i], "tern_team_broadcast", broadcast, "MPI_Bcast",
                mpi_broadcast);
    for (size_t i = 0; i < sweep.count; i++)
        measure(own, &s, "allreduce", sweep.bytes[i], "tern_team_allreduce", allreduce,
                "MPI_Allreduce", mpi_allreduce);
    if (own->ranks == 2 && own->shared)
        measure_overlap(own, &s, sweep.bytes[sweep.count - 1]);
    MPI_Comm_free(&s.comm);
    free(s.data);
}

void bench_collective(bench *b) { bench_group_each(b, measure_all); }
