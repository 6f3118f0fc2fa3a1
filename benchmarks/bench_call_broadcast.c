/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A broadcast from rank 0 until rank 0 knows that the function has run on every worker, by number
 * of ranks and by arity of the tree. With shared memory it stands beside a tree of flags, otherwise
 * beside MPI_Bcast and MPI_Barrier.
 */

#include "bench_call.h"

#include <sched.h>

typedef struct spread {
    tern_call_options options;
    tern_synchronizer synchronizer; /* the origin's */
    ceiling_flag_tree tree;
    MPI_Comm comm;
    uint64_t last; /* sum of the numbers, checked at the end of a block */
} spread;

static uint64_t heard, heard_sum;

static tern_status bench_call_hear(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t number;
    (void)call;
    if (bytes != sizeof number)
        return TERN_ERR_RANGE;
    memcpy(&number, arguments, sizeof number);
    heard_sum += number;
    heard++;
    return TERN_OK;
}
TERN_FUNCTION(bench_call_hear)

static void prepare(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)state;
    (void)n;
    heard = heard_sum = 0;
}

static void check(uint64_t n) {
    if (heard != n || heard_sum != n * (n + 1) / 2)
        bench_fail("a broadcast did not run once on a rank", TERN_ERR_SYSTEM);
}

static void tern_origin(bench *b, void *state, uint64_t n) {
    spread *s = state;
    for (uint64_t i = 1; i <= n; i++) {
        bench_ok(tern_call_all(b->worker, &bench_call_hear_function, &i, sizeof i, &s->options),
                 "tern_call_all");
        bench_ok(tern_synchronizer_wait(b->worker, s->synchronizer), "tern_synchronizer_wait");
    }
    check(n);
}

static void tern_target(bench *b, void *state, uint64_t n) {
    (void)state;
    while (heard < n)
        if (tern_progress(b->worker) == 0 && bench_crowded(b))
            sched_yield();
    check(n);
}

static void tree_origin(bench *b, void *state, uint64_t n) {
    spread *s = state;
    (void)b;
    ceiling_flag_tree_send(&s->tree, n);
}

static void tree_target(bench *b, void *state, uint64_t n) {
    spread *s = state;
    (void)b;
    ceiling_flag_tree_pass(&s->tree, n);
}

static void mpi_all(bench *b, void *state, uint64_t n) {
    const spread *s = state;
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t number = b->rank == BENCH_ORIGIN ? i : 0;
        bench_mpi(MPI_Bcast(&number, 1, MPI_UINT64_T, BENCH_ORIGIN, s->comm), "MPI_Bcast");
        bench_mpi(MPI_Barrier(s->comm), "MPI_Barrier");
        if (number != i)
            bench_fail("MPI_Bcast gave another number", TERN_ERR_SYSTEM);
    }
}

static void measure(bench *b, spread *s, unsigned arity) {
    bench_case c = {.name = "broadcast",
                    .params = {{"ranks", (uint64_t)b->ranks, NULL}, {"arity", arity, NULL}}};
    const bench_side mpi = bench_way("MPI_Bcast, MPI_Barrier", mpi_all, mpi_all, s);
    s->options.arity = s->tree.arity = arity;
    c.measured = bench_way("tern_call_all", tern_origin, tern_target, s);
    c.measured.prepare = prepare;
    if (b->shared) {
        c.ceiling = bench_way("flags over a tree", tree_origin, tree_target, s);
        c.peers[c.peer_count++].side = mpi;
    } else {
        c.ceiling = mpi;
    }
    bench_measure(b, &c);
}

/* Arities 2, 4, 8, ... and one level for all ranks. */
void bench_call_broadcast(bench *own) {
    const unsigned most = (unsigned)own->ranks - 1;
    spread s = {.options = {.notify = TERN_ON_EXECUTED}};
    void *there = NULL, *back = NULL;
    const size_t lines = (size_t)own->ranks * CEILING_TREE_LINE;
    tern_ptr tell = bench_place(own, BENCH_ORIGIN, lines, &there);
    tern_ptr told = bench_place(own, BENCH_ORIGIN, lines, &back);
    s.tree = (ceiling_flag_tree){
        .there = there, .back = back, .rank = (unsigned)own->rank, .ranks = (unsigned)own->ranks};
    bench_mpi(MPI_Comm_dup(own->comm, &s.comm), "MPI_Comm_dup");
    if (own->rank == BENCH_ORIGIN)
        bench_ok(tern_synchronizer_create(own->worker, &s.synchronizer),
                 "tern_synchronizer_create");
    s.options.synchronizer = &s.synchronizer;
    for (unsigned arity = 2; arity < most; arity *= 2)
        measure(own, &s, arity);
    measure(own, &s, most);
    if (own->rank == BENCH_ORIGIN)
        bench_ok(tern_synchronizer_destroy(own->worker, &s.synchronizer),
                 "tern_synchronizer_destroy");
    MPI_Comm_free(&s.comm);
    bench_unplace(own, BENCH_ORIGIN, told);
    bench_unplace(own, BENCH_ORIGIN, tell);
}
