/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls from many workers to one, whose rank has ring memory for some of these pairs only: the time
 * of a call, beside the same with ring memory for all. All pairs in turn, where the target takes
 * rings from one pair for another, and a few pairs after all others have become idle.
 */

#include "bench_call.h"

enum { PAIRS = 256, FEW = 16, BURST = 16, RINGS_LEAST = 32 };

/* A context, and the turn of its pairs. */
typedef struct crowd {
    bench group;
    uint32_t busy, turn, others_turn;
} crowd;

static uint64_t calls_taken;

static tern_status count_call(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    calls_taken++;
    return TERN_OK;
}
TERN_FUNCTION(count_call)

static void prepare(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)state;
    (void)n;
    calls_taken = 0;
}

/* The turn of a worker: some calls, and progress. */
static void send_burst(crowd *c, uint32_t index, uint64_t calls) {
    bench *own = &c->group;
    tern_worker *worker = own->worker;
    if (index > 0)
        bench_ok(tern_worker_adopt(own->context, index, &worker), "tern_worker_adopt");
    for (; calls > 0; calls--)
        bench_ok(tern_call(worker, own->other, &count_call_function, &calls, sizeof calls),
                 "tern_call");
    (void)tern_progress(worker);
    if (index > 0)
        bench_ok(tern_worker_release(worker), "tern_worker_release");
}

/* Every worker makes progress until all calls have come: one that has nothing to send, and one that
 * may have to send again what found no room. */
static void send(bench *b, void *state, uint64_t n) {
    crowd *c = state;
    char all_came;
    int done = 0;
    MPI_Request request;
    (void)b;
    bench_mpi(MPI_Irecv(&all_came, 1, MPI_CHAR, BENCH_TARGET, 0, c->group.comm, &request),
              "MPI_Irecv");
    for (uint64_t sent = 0; !done; sent += BURST) {
        send_burst(c, c->turn++ % c->busy, sent >= n ? 0 : n - sent < BURST ? n - sent : BURST);
        send_burst(c, c->others_turn++ % PAIRS, 0);
        if (sent >= n)
            bench_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
}

static void take(bench *b, void *state, uint64_t n) {
    const crowd *c = state;
    (void)b;
    while (calls_taken < n)
        (void)tern_progress(c->group.worker);
    const char all_came = 0;
    bench_mpi(MPI_Send(&all_came, 1, MPI_CHAR, BENCH_ORIGIN, 0, c->group.comm), "MPI_Send");
}

static bench_side side_of(const char *name, crowd *c) {
    bench_side side = bench_way(name, send, take, c);
    side.prepare = prepare;
    return side;
}

/* Rings are at the target for so many pairs. */
static void open_crowd(bench *b, crowd *c, size_t rings) {
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.workers = PAIRS;
    config.ring_memory = rings * config.ring_size;
    bench_group_open(b, &c->group, 2, &config, 1);
}

static void measure(crowd *c, crowd *all, uint32_t busy, size_t rings) {
    c->busy = all->busy = busy;
    const bench_case cell = {.name = busy < PAIRS ? "pairs_few" : "pairs_all",
                             .params = {{"pairs", PAIRS, NULL}, {"rings", rings, NULL}},
                             .measured = side_of("tern_call", c),
                             .ceiling = side_of("with rings for all", all)};
    bench_measure(&c->group, &cell);
}

void bench_call_pairs(bench *b) {
    static crowd own, all;
    if (!bench_selected(b, "pairs_all") && !bench_selected(b, "pairs_few"))
        return;
    if (!bench_may_thread(b, "pairs, which has more workers, is run by name: --only 'pairs*'"))
        return;
    open_crowd(b, &all, (size_t)4 * PAIRS);
    for (size_t rings = RINGS_LEAST; rings <= PAIRS; rings *= 2) {
        open_crowd(b, &own, rings);
        measure(&own, &all, PAIRS, rings);
        measure(&own, &all, FEW, rings);
        bench_group_close(&own.group);
    }
    bench_group_close(&all.group);
}
