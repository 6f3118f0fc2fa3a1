/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Collectives over notifications beside MPI's, by ranks and by length. Broadcasts come from each
 * rank in turn, so no root runs ahead of the others. Data lies in private memory.
 */

#include "bench.h"

#include <stdlib.h>

typedef struct together {
    MPI_Comm comm; /* of MPI's sides */
    size_t bytes;
    char *data;
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

/* All ranks do the same, so origin and target of a side are one function. */
static void measure(bench *b, together *s, const char *name, size_t bytes, const char *tern_name,
                    void (*tern)(bench *, void *, uint64_t), const char *mpi_name,
                    void (*mpi)(bench *, void *, uint64_t)) {
    s->bytes = bytes;
    memset(s->data, 0, bytes); /* sums stay small */
    bench_case c = {.name = name,
                    .params = {{"ranks", (uint64_t)b->ranks, NULL}, {"bytes", bytes, NULL}},
                    .measured = bench_way(tern_name, tern, tern, s),
                    .ceiling = bench_way(mpi_name, mpi, mpi, s)};
    if (bytes == 0)
        c.params[1].name = NULL; /* a barrier */
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
    measure(own, &s, "barrier", 0, "tern_team_barrier", barrier, "MPI_Barrier", mpi_barrier);
    for (size_t i = 0; i < sweep.count; i++)
        measure(own, &s, "broadcast", sweep.bytes[i], "tern_team_broadcast", broadcast, "MPI_Bcast",
                mpi_broadcast);
    for (size_t i = 0; i < sweep.count; i++)
        measure(own, &s, "allreduce", sweep.bytes[i], "tern_team_allreduce", allreduce,
                "MPI_Allreduce", mpi_allreduce);
    MPI_Comm_free(&s.comm);
    free(s.data);
}

void bench_collective(bench *b) { bench_group_each(b, measure_all); }
