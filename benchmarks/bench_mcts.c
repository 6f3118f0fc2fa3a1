/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "bench_mcts.h"

enum { ROLLOUTS = 20000, QUICK_ROLLOUTS = 1000, MANY_UNDER_WAY = 64, ROWS = 32 };

static mcts_way one; /* at the origin: a single worker */
static mcts_row rows[ROWS];
static size_t row_count;

static uint64_t rollouts_of(const bench *b) { return b->options.quick ? QUICK_ROLLOUTS : ROLLOUTS; }

/* Processes that share no memory call each other; threads of one process do so only if told to. */
static bool makes_calls(const mcts_way *w) { return w->group.ranks > 1 || w->mode.calls_only; }

/* The target for the gain from a second core. */
static double scaling_target(const mcts_way *w) {
    const bench *b = &w->group;
    return b->shared && b->ranks == 2 && w->workers == 1 && !bench_crowded(b) &&
                   w->mode.publish == TERN_PUBLISH_WRITE && w->mode.under_way == 0
               ? 1.7
               : 0;
}

enum { SHARED, ONE, SEQUENTIAL };

static void add_peers(bench_case *c, mcts_way *w) {
    c->peers[SHARED].side = mcts_side_shared(w);
    c->peer_count = 1;
    if (w->all == 1)
        return;
    c->peers[ONE] = (bench_peer){mcts_side_one(&one), scaling_target(w)};
    c->peers[SEQUENTIAL].side = mcts_side_sequential(w);
    c->peer_count = 3;
}

static double rate(const double *ns, size_t pairs) {
    double values[BENCH_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++)
        if (ns[i] > 0)
            values[count++] = 1e3 / ns[i];
    return bench_median(values, count);
}

static double times(const double *above, const double *below, size_t pairs) {
    double values[BENCH_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++)
        if (above[i] > 0)
            values[count++] = above[i] / below[i];
    return bench_median(values, count);
}

static const mcts_row *keep(const mcts_way *w, const bench_times *t) {
    mcts_row *r = &rows[row_count < ROWS ? row_count++ : ROWS - 1];
    *r = (mcts_row){.mode = w->mode,
                    .calls = makes_calls(w),
                    .crowded = bench_crowded(&w->group),
                    .completions = rate(t->measured, t->pairs),
                    .visits = w->visits,
                    .shared = rate(t->peer[SHARED], t->pairs),
                    .alone = rate(t->ceiling, t->pairs),
                    .counters = w->counters};
    memcpy(r->layout, w->layout, sizeof r->layout);
    r->of_one = w->all > 1 ? times(t->peer[ONE], t->measured, t->pairs) : 1;
    r->sequential = w->all > 1 ? rate(t->peer[SEQUENTIAL], t->pairs) : r->alone;
    return r;
}

/* Returns the results at the origin; else NULL. */
static const mcts_row *measure(bench *b, int ranks, uint32_t workers, mcts_mode mode) {
    static mcts_way w;
    const mcts_row *row = NULL;
    mcts_open(b, &w, ranks, workers, mode, rollouts_of(b));
    bench_case c = {.name = "search",
                    .params = {{"layout", 0, w.layout},
                               {"mode", 0, mcts_mode_name(&mode, makes_calls(&w))},
                               {"under way", mode.under_way, mode.under_way > 0 ? NULL : "default"},
                               {mode.calls_only ? "nodes" : NULL, 0, "calls only"}},
                    .unit = BENCH_RATE,
                    .operations = rollouts_of(b),
                    .measured = mcts_side_tern(&w),
                    .ceiling = mcts_side_alone(&w),
                    .members = w.json,
                    .also = "visits",
                    .also_each = &w.visits};
    add_peers(&c, &w);
    const bench_times *t = bench_measure(&w.group, &c);
    if (t != NULL) {
        row = keep(&w, t);
        mcts_note(&w.group, row);
    }
    mcts_close(&w);
    return row;
}

static void measure_modes(bench *b, int ranks, uint32_t workers, uint32_t under_way,
                          bool calls_only) {
    const mcts_row *batched =
        measure(b, ranks, workers, (mcts_mode){TERN_PUBLISH_BATCHED, under_way, calls_only});
    const mcts_row *spill =
        measure(b, ranks, workers, (mcts_mode){TERN_PUBLISH_SPILL, under_way, calls_only});
    if (batched != NULL && spill != NULL)
        mcts_explain(b, batched, spill);
}

/* One process: nobody is called, unless the workers are told to call each other. */
static void measure_one_rank(bench *b, uint32_t workers) {
    (void)measure(b, 1, workers, (mcts_mode){.publish = TERN_PUBLISH_WRITE});
    if (workers > 1)
        measure_modes(b, 1, workers, 0, true);
}

static void measure_ranks(bench *b, int ranks, uint32_t workers) {
    for (uint32_t under_way = 0; under_way <= MANY_UNDER_WAY; under_way += MANY_UNDER_WAY) {
        (void)measure(b, ranks, workers, (mcts_mode){TERN_PUBLISH_WRITE, under_way, false});
        measure_modes(b, ranks, workers, under_way, false);
    }
}

/* Sets the numbers of workers of each rank: the one asked for, or 1 and another. Returns how many
 * numbers there are. MPI takes calls of several threads only if this subject was asked for by
 * name. */
static size_t workers_of(const bench *b, uint32_t workers[2]) {
    tern_config config;
    int level;
    bench_ok(tern_config_init(&config), "tern_config_init");
    MPI_Query_thread(&level);
    workers[0] = b->options.workers > 0 && level >= MPI_THREAD_SERIALIZED ? b->options.workers : 1;
    workers[1] = config.workers > 1 ? (uint32_t)config.workers : 2;
    return b->options.workers > 0 || level < MPI_THREAD_SERIALIZED ? 1 : 2;
}

static void measure_searches(bench *b, int ranks) {
    uint32_t workers[2];
    const size_t count = workers_of(b, workers);
    const uint32_t threads = (uint32_t)ranks * workers[count - 1]; /* of the shared tree */
    if (threads > BENCH_TOGETHER_MOST) {
        bench_note(b, "searches are left out: %u workers in all, and a shared tree takes %d",
                   threads, BENCH_TOGETHER_MOST);
        return;
    }
    if (b->rank == BENCH_ORIGIN) {
        mcts_open(b, &one, 1, 1, (mcts_mode){.publish = TERN_PUBLISH_WRITE}, rollouts_of(b));
        for (size_t i = 0; i < count && (ranks == 1 || !b->options.whole); i++)
            measure_one_rank(b, workers[i]);
    }
    if (ranks > 1)
        mcts_meet_asleep(b->world, b->rank == BENCH_ORIGIN);
    for (size_t i = 0; i < count && ranks > 1; i++)
        measure_ranks(b, ranks, workers[i]);
    if (b->rank == BENCH_ORIGIN)
        mcts_close(&one);
    mcts_summary(b, rows, row_count);
}

void bench_mcts(bench *b) {
    int ranks;
    MPI_Comm_size(b->world, &ranks);
    if (b->rank <= BENCH_TARGET)
        mcts_games(b);
    if (bench_selected(b, "search"))
        measure_searches(b, ranks);
    if (b->rank <= BENCH_TARGET)
        bench_pin(b);
}
