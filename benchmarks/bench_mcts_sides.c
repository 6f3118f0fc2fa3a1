/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The searches of a block: tern's, sequential ones that share nothing, and one of threads that
 * share a tree. */

#include "bench_mcts.h"

#include <stdlib.h>
#include <unistd.h>

enum { NAP_US = 200 };
static const double exploration = 1.4;

static void search_by(mcts_thread *t, tern_worker *worker) {
    const tern_search_limits limits = {.rollouts = t->rollouts};
    tern_search_result result;
    bench_ok(tern_search_run(worker, t->way->search, &limits, &result), "tern_search_run");
    if (result.rollouts != t->rollouts)
        bench_fail("a search that lost rollouts", TERN_ERR_SYSTEM);
    tern_stats_get(worker, &t->stats);
}

static void *search_thread(void *argument) {
    mcts_thread *t = argument;
    const bench *b = &t->way->group;
    tern_worker *worker = b->worker;
    if (t->index > 0)
        bench_ok(tern_worker_adopt(b->context, t->index, &worker), "tern_worker_adopt");
    search_by(t, worker);
    if (t->index > 0)
        bench_ok(tern_worker_release(worker), "tern_worker_release");
    return NULL;
}

static void *alone_thread(void *argument) {
    mcts_thread *t = argument;
    const mcts_way *w = t->way;
    bench_use(ceiling_uct_run(w->alone[t->index], &w->board, t->index, t->rollouts));
    return NULL;
}

static void *shared_thread(void *argument) {
    mcts_thread *t = argument;
    ceiling_uct_shared_run(t->way->shared, t->index);
    return NULL;
}

/* Runs body by the workers of this rank, or by as many threads as there are workers of all
 * ranks. */
static void by_workers(const mcts_way *w, void *(*body)(void *)) {
    bench_together(&w->group, (uint32_t)w->group.place * w->workers, w->workers, body, w->threads,
                   sizeof *w->threads);
}

static void by_all(const mcts_way *w, void *(*body)(void *)) {
    bench_together(&w->group, 0, w->all, body, w->threads, sizeof *w->threads);
}

static void search(bench *b, void *state, uint64_t n) {
    mcts_way *w = state;
    (void)b;
    for (uint32_t i = 0; i < w->workers; i++)
        w->threads[i].rollouts = n;
    by_workers(w, search_thread);
    w->ran = true;
}

static void prepare(bench *b, void *state, uint64_t n) {
    mcts_way *w = state;
    (void)b;
    (void)n;
    if (w->ran)
        mcts_account(w);
    w->ran = false;
    bench_ok(tern_search_reset(w->group.worker, w->search, &w->board), "tern_search_reset");
}

bench_side mcts_side_tern(mcts_way *w) {
    bench_side side = bench_way("tern_search_run", search, search, w);
    side.prepare = prepare;
    return side;
}

static void alone(bench *b, void *state, uint64_t n) {
    mcts_way *w = state;
    const uint32_t first = (uint32_t)b->rank * w->workers;
    for (uint32_t i = 0; i < w->workers; i++)
        w->threads[i].rollouts = n / w->all + (first + i < n % w->all);
    by_workers(w, alone_thread);
    w->alone_visits = (double)ceiling_uct_visits(w->alone[0]) / (double)w->threads[0].rollouts;
}

bench_side mcts_side_alone(mcts_way *w) {
    const char *name = w->all > 1 ? "sequential, each its own tree" : "sequential";
    return bench_way(name, alone, alone, w);
}

void mcts_meet_asleep(MPI_Comm comm, bool works) {
    MPI_Request request;
    int done = 0;
    tern_mpi_lock();
    bench_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
    tern_mpi_unlock();
    while (!done) {
        if (!works)
            usleep(NAP_US);
        tern_mpi_lock();
        bench_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        tern_mpi_unlock();
    }
}

static void sleep_target(bench *b, void *state, uint64_t n) {
    (void)state;
    (void)n;
    mcts_meet_asleep(b->comm, false);
}

static void one_origin(bench *b, void *state, uint64_t n) {
    search(b, state, n);
    mcts_meet_asleep(b->comm, true);
}

static void one_prepare(bench *b, void *state, uint64_t n) {
    if (b->rank == BENCH_ORIGIN)
        prepare(b, state, n);
}

bench_side mcts_side_one(mcts_way *one) {
    bench_side side = bench_way("tern, one worker", one_origin, sleep_target, one);
    side.prepare = one_prepare;
    return side;
}

static void sequential_origin(bench *b, void *state, uint64_t n) {
    mcts_way *w = state;
    bench_use(ceiling_uct_run(w->sequential, &w->board, 0, n));
    w->sequential_visits = (double)ceiling_uct_visits(w->sequential) / (double)n;
    mcts_meet_asleep(b->comm, true);
}

bench_side mcts_side_sequential(mcts_way *w) {
    return bench_way("sequential, one thread", sequential_origin, sleep_target, w);
}

static void shared_origin(bench *b, void *state, uint64_t n) {
    mcts_way *w = state;
    ceiling_uct_shared_reset(w->shared, &w->board, n, n);
    by_all(w, shared_thread);
    w->shared_visits = (double)ceiling_uct_shared_visits(w->shared) / (double)n;
    mcts_meet_asleep(b->comm, true);
}

bench_side mcts_side_shared(mcts_way *w) {
    return bench_way("one shared tree, as many threads", shared_origin, sleep_target, w);
}

static void *checked(void *memory, const char *what) {
    if (memory == NULL)
        bench_fail(what, TERN_ERR_MEMORY);
    return memory;
}

static void open_ceilings(mcts_way *w, uint64_t rollouts) {
    w->threads = checked(calloc(w->all, sizeof *w->threads), "threads");
    for (uint32_t i = 0; i < w->all; i++)
        w->threads[i] = (mcts_thread){.way = w, .index = i};
    w->alone = checked(calloc(w->workers, sizeof(ceiling_uct *)), "trees");
    for (uint32_t i = 0; i < w->workers; i++)
        w->alone[i] = checked(
            ceiling_uct_open(&w->game, rollouts / w->all + 1, MCTS_GAMES, exploration), "a tree");
    if (w->group.rank != BENCH_ORIGIN)
        return;
    w->sequential =
        checked(ceiling_uct_open(&w->game, rollouts, MCTS_GAMES, exploration), "a tree");
    w->shared = checked(
        ceiling_uct_shared_open(&w->game, rollouts, w->all, MCTS_GAMES, exploration), "a tree");
}

/* m x p x t: machines, processes of each, threads of each; leading ones are left out. */
static void name_layout(mcts_way *w) {
    const bench *b = &w->group;
    if (b->hosts > 1)
        snprintf(w->layout, sizeof w->layout, "%dx%dx%u", b->hosts, b->ranks / b->hosts,
                 w->workers);
    else if (b->ranks > 1)
        snprintf(w->layout, sizeof w->layout, "%dx%u", b->ranks, w->workers);
    else
        snprintf(w->layout, sizeof w->layout, "%u", w->workers);
}

void mcts_open(bench *b, mcts_way *w, int ranks, uint32_t workers, mcts_mode mode,
               uint64_t rollouts) {
    tern_search_options options = {.exploration = exploration,
                                   .simulations = MCTS_GAMES,
                                   .publish = mode.publish,
                                   .calls_only = mode.calls_only};
    tern_config config;
    *w = (mcts_way){.workers = workers, .all = (uint32_t)ranks * workers, .mode = mode};
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.workers = workers;
    options.under_way = mode.under_way * w->all;
    w->geometry = hex_geometry_of(MCTS_SIZE, false);
    w->game = hex_game(&w->geometry);
    w->board = hex_board_empty();
    bench_group_open(b, &w->group, ranks, &config, (int)workers);
    name_layout(w);
    open_ceilings(w, rollouts);
    bench_ok(tern_search_create(w->group.worker, &w->game, &options, &w->search),
             "tern_search_create");
}

void mcts_close(mcts_way *w) {
    bench_ok(tern_search_destroy(w->group.worker, w->search), "tern_search_destroy");
    ceiling_uct_shared_close(w->shared);
    ceiling_uct_close(w->sequential);
    for (uint32_t i = 0; i < w->workers; i++)
        ceiling_uct_close(w->alone[i]);
    free(w->alone);
    free(w->threads);
    bench_group_close(&w->group);
}
