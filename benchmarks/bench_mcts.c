/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tree search on an empty 11 x 11 board of Hex (the paper's figure 3): the ranks and workers that
 * the run has, under each publishing policy, beside as many sequential searches that share nothing;
 * and its random games beside those of a loop of constant sizes.
 */

#include "bench.h"
#include "ceilings/ceilings.h"
#include "ceilings/uct.h"
#include "games/hex/game.h"
#include "games/hex/rollout.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SIZE = 11,
    GAMES = 16,
    ROLLOUTS = 20000,
    QUICK_ROLLOUTS = 1000,
    NAP_US = 200,
    MANY_UNDER_WAY = 64
};
static const double exploration = 1.4;

/* A search that tern does, on this rank, and a sequential one of each of its threads. */
typedef struct way {
    bench frame;
    hex_geometry geometry;
    tern_game game;
    hex_board board;
    uint32_t workers;
    tern_search *search;
    tern_publish publish;
    uint32_t under_way; /* rollouts for each worker; 0: the search's default */
} way;

typedef struct thread {
    way *way;
    uint32_t index;
    uint64_t rollouts;
    tern_stats stats;
    ceiling_uct *tree;
    pthread_t thread;
} thread;

static void search_by(thread *t, tern_worker *worker) {
    const tern_search_limits limits = {.rollouts = t->rollouts};
    tern_search_result result;
    bench_ok(tern_search_run(worker, t->way->search, &limits, &result), "tern_search_run");
    if (result.rollouts != t->rollouts)
        bench_fail("a search that lost rollouts", TERN_ERR_SYSTEM);
    tern_stats_get(worker, &t->stats);
}

static void *search_thread(void *argument) {
    thread *t = argument;
    tern_worker *worker = t->way->frame.worker;
    if (t->index > 0)
        bench_ok(tern_worker_adopt(t->way->frame.context, t->index, &worker), "tern_worker_adopt");
    search_by(t, worker);
    if (t->index > 0)
        bench_ok(tern_worker_release(worker), "tern_worker_release");
    return NULL;
}

static void *alone_thread(void *argument) {
    thread *t = argument;
    bench_use(ceiling_uct_run(t->tree, &t->way->board, t->index, t->rollouts));
    return NULL;
}

/* This thread is the first of them. */
static void together(way *w, thread *threads, void *(*body)(void *)) {
    for (uint32_t i = 1; i < w->workers; i++)
        if (pthread_create(&threads[i].thread, NULL, body, &threads[i]) != 0)
            bench_fail("a thread for a search", TERN_ERR_SYSTEM);
    body(&threads[0]);
    for (uint32_t i = 1; i < w->workers; i++)
        pthread_join(threads[i].thread, NULL);
}

/* [out] stats: rings of all workers of this rank, if not NULL. */
static void search(way *w, uint64_t n, tern_stats *stats) {
    thread *threads = calloc(w->workers, sizeof *threads);
    if (threads == NULL)
        bench_fail("threads", TERN_ERR_MEMORY);
    for (uint32_t i = 0; i < w->workers; i++)
        threads[i] = (thread){.way = w, .index = i, .rollouts = n};
    together(w, threads, search_thread);
    for (uint32_t i = 0; i < w->workers && stats != NULL; i++) {
        stats->rings_opened += threads[i].stats.rings_opened;
        stats->rings_grown += threads[i].stats.rings_grown;
    }
    free(threads);
}

static void search_all(bench *b, void *state, uint64_t n) {
    (void)b;
    search(state, n, NULL);
}

static void prepare(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    (void)n;
    bench_ok(tern_search_reset(w->frame.worker, w->search, &w->board), "tern_search_reset");
}

/* The others sleep meanwhile: who waits inside MPI spins. */
static void meet_asleep(const bench *b, bool works) {
    MPI_Request request;
    int done = 0;
    tern_mpi_lock();
    bench_mpi(MPI_Ibarrier(b->comm, &request), "MPI_Ibarrier");
    tern_mpi_unlock();
    while (!done) {
        if (!works)
            usleep(NAP_US);
        tern_mpi_lock();
        bench_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        tern_mpi_unlock();
    }
}

static void one_origin(bench *b, void *state, uint64_t n) {
    search(state, n, NULL);
    meet_asleep(b, true);
}

static void sleep_target(bench *b, void *state, uint64_t n) {
    (void)state;
    (void)n;
    meet_asleep(b, false);
}

static void one_prepare(bench *b, void *state, uint64_t n) {
    if (b->rank == BENCH_ORIGIN)
        prepare(b, state, n);
}

/* Sequential searches by threads of this rank. */
typedef struct alone {
    way *way;
    thread *threads;
    uint32_t all;
} alone;

static void alone_all(bench *b, void *state, uint64_t n) {
    alone *a = state;
    const uint32_t first = (uint32_t)b->rank * a->way->workers;
    for (uint32_t i = 0; i < a->way->workers; i++)
        a->threads[i].rollouts = n / a->all + (first + i < n % a->all);
    together(a->way, a->threads, alone_thread);
}

static void alone_open(alone *a, way *w, uint64_t n) {
    *a = (alone){w, calloc(w->workers, sizeof *a->threads), (uint32_t)w->frame.ranks * w->workers};
    if (a->threads == NULL)
        bench_fail("threads", TERN_ERR_MEMORY);
    for (uint32_t i = 0; i < w->workers; i++) {
        a->threads[i] = (thread){.way = w, .index = i};
        a->threads[i].tree = ceiling_uct_open(&w->game, n / a->all + 1, GAMES, exploration);
        if (a->threads[i].tree == NULL)
            bench_fail("a tree", TERN_ERR_MEMORY);
    }
}

static void alone_close(alone *a) {
    for (uint32_t i = 0; i < a->way->workers; i++)
        ceiling_uct_close(a->threads[i].tree);
    free(a->threads);
}

/* workers 0: as many as the run's environment says. */
static void way_open(bench *b, way *w, int ranks, uint32_t workers, tern_publish publish,
                     uint32_t under_way) {
    tern_search_options options = {
        .exploration = exploration, .simulations = GAMES, .publish = publish};
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    if (workers > 0)
        config.workers = workers;
    w->workers = (uint32_t)config.workers;
    w->publish = publish;
    w->under_way = under_way;
    options.under_way = under_way * w->workers * (uint32_t)ranks;
    w->geometry = hex_geometry_of(SIZE, false);
    w->game = hex_game(&w->geometry);
    w->board = hex_board_empty();
    bench_group_open(b, &w->frame, ranks, &config, (int)w->workers);
    if (w->workers > 1)
        bench_unpin(&w->frame);
    bench_ok(tern_search_create(w->frame.worker, &w->game, &options, &w->search),
             "tern_search_create");
}

static void way_close(way *w) {
    bench_ok(tern_search_destroy(w->frame.worker, w->search), "tern_search_destroy");
    bench_group_close(&w->frame);
}

/* What a run of its own, the first one of a context, says of itself. */
typedef struct account {
    tern_search_statistics search;
    uint64_t rings_opened, rings_grown;
    char json[512];
} account;

static void take_account(way *w, uint64_t n, account *a) {
    tern_stats stats = {0};
    prepare(&w->frame, w, n);
    search(w, n, &stats);
    bench_ok(tern_search_get_statistics(w->frame.worker, w->search, &a->search),
             "tern_search_get_statistics");
    uint64_t rings[2] = {stats.rings_opened, stats.rings_grown};
    tern_mpi_lock();
    bench_mpi(MPI_Allreduce(MPI_IN_PLACE, rings, 2, MPI_UINT64_T, MPI_SUM, w->frame.comm),
              "MPI_Allreduce");
    tern_mpi_unlock();
    a->rings_opened = rings[0];
    a->rings_grown = rings[1];
}

static double per(uint64_t a, uint64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static void write_json(account *a) {
    const tern_search_statistics *s = &a->search;
    snprintf(a->json, sizeof a->json,
             ",\"visits\":%.4g,\"depth\":%.4g,\"calls_per_visit\":%.4g,\"bytes_per_visit\":%.4g,"
             "\"deferred\":%.4g,\"kept\":%.4g,\"idle\":%.4g,\"rings_opened\":%llu,"
             "\"rings_grown\":%llu",
             per(s->visits, s->completions), per(s->depth_sum, s->completions),
             per(s->calls, s->visits), per(s->bytes, s->visits), per(s->deferred, s->completions),
             per(s->kept, s->calls), per(s->idle_ns, s->run_ns),
             (unsigned long long)a->rings_opened, (unsigned long long)a->rings_grown);
}

static void note(bench *b, const account *a, double ns) {
    const tern_search_statistics *s = &a->search;
    bench_note(b,
               "%.3f million visits/s; depth %.2f; of a visit %.3f calls, %.1f bytes; deferred "
               "%.3f of completions; idle %.3f of the time; rings grown: %llu of %llu",
               per(s->visits, s->completions) / ns * 1e3, per(s->depth_sum, s->completions),
               per(s->calls, s->visits), per(s->bytes, s->visits), per(s->deferred, s->completions),
               per(s->idle_ns, s->run_ns), (unsigned long long)a->rings_grown,
               (unsigned long long)a->rings_opened);
}

static const char *const modes[] = {
    [TERN_PUBLISH_WRITE] = "write", [TERN_PUBLISH_TRAD] = "trad", [TERN_PUBLISH_OVFL] = "ovfl"};

static void measure(way *w, way *one, uint64_t n) {
    bench *b = &w->frame;
    account a;
    alone sequential;
    char layout[32];
    snprintf(layout, sizeof layout, "%dx%u", b->ranks, w->workers);
    bench_case c = {.name = "search",
                    .params = {{"layout", 0, layout},
                               {"mode", 0, modes[w->publish]},
                               {"under way", w->under_way, w->under_way > 0 ? NULL : "default"}},
                    .unit = BENCH_RATE,
                    .operations = n,
                    .members = a.json};
    if (!bench_selected(b, c.name))
        return;
    alone_open(&sequential, w, n);
    take_account(w, n, &a);
    write_json(&a);
    c.measured = bench_way("tern_search_run", search_all, search_all, w);
    c.measured.prepare = prepare;
    c.ceiling = bench_way("sequential, each its own tree", alone_all, alone_all, &sequential);
    if (sequential.all > 1) {
        bench_peer *peer = &c.peers[c.peer_count++];
        peer->side = bench_way("tern, one worker", one_origin, sleep_target, one);
        peer->side.prepare = one_prepare;
        /* What the second core has to bring. */
        if (b->shared && b->ranks == 2 && w->workers == 1 && !bench_crowded(b) &&
            w->publish == TERN_PUBLISH_WRITE && w->under_way == 0)
            peer->at_least = 1.7;
    }
    const bench_times *times = bench_measure(b, &c);
    if (times != NULL)
        note(b, &a, bench_median(times->measured, times->pairs));
    alone_close(&sequential);
}

static void games_origin(bench *b, void *state, uint64_t n) {
    const way *w = state;
    tern_random random = tern_random_seeded(n, 0);
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        bench_use(hex_rollouts(&w->geometry, &w->board, GAMES, &random));
}

static void bare_games_origin(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)state;
    bench_use(ceiling_hex(n, GAMES * n));
}

static void measure_games(bench *b) {
    way w = {.geometry = hex_geometry_of(SIZE, false), .board = hex_board_empty()};
    bench_case c = {.name = "games",
                    .params = {{"size", SIZE, NULL}, {"at once", GAMES, NULL}},
                    .ratio_target = 1.1};
    c.measured = bench_way("hex_rollouts", games_origin, NULL, &w);
    c.ceiling = bench_way("games of constant sizes", bare_games_origin, NULL, NULL);
    bench_measure(b, &c);
}

void bench_mcts(bench *b) {
    static const tern_publish order[] = {TERN_PUBLISH_WRITE, TERN_PUBLISH_TRAD, TERN_PUBLISH_OVFL};
    static way w, one;
    int ranks;
    const uint64_t n = b->options.quick ? QUICK_ROLLOUTS : ROLLOUTS;
    MPI_Comm_size(b->world, &ranks);
    if (b->rank <= BENCH_TARGET)
        measure_games(b);
    if (b->rank == BENCH_ORIGIN) {
        bench unpinned = *b; /* stays on its core; the others leave it theirs meanwhile */
        unpinned.options.pin = false;
        way_open(&unpinned, &one, 1, 1, TERN_PUBLISH_WRITE, 0);
    }
    if (b->rank <= BENCH_TARGET)
        meet_asleep(b, b->rank == BENCH_ORIGIN);
    const size_t modes_count = sizeof order / sizeof order[0];
    for (size_t i = 0; i < 2 * modes_count; i++) {
        way_open(b, &w, ranks, 0, order[i % modes_count], i < modes_count ? 0 : MANY_UNDER_WAY);
        bool alike = (uint32_t)ranks * w.workers == 1; /* nobody is called */
        measure(&w, &one, n);
        way_close(&w);
        if (alike)
            break;
    }
    if (b->rank == BENCH_ORIGIN)
        way_close(&one);
    if (b->rank <= BENCH_TARGET)
        bench_pin(b);
}
