/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls to a process whose application computes. Without service threads the calls wait until it
 * makes progress, here once a millisecond. With a service thread they run meanwhile, and the
 * application never makes progress. The last case measures what a service thread costs calls
 * between two workers that do not need it. The threads of a rank share its core.
 */

#include "bench_call.h"

enum { CONTEXTS = 2, BYTES = 8, SLICE_NS = 1000000 };

/* A group for each number of service threads, and the case that runs in it. */
typedef struct way {
    bench group;
    uint64_t payload[BENCH_CALL_MAX / 8];
    ceiling_flag flag;
    bool computes; /* the target's application computes, and calls go to the process, not to worker
                      0 */
} way;

static void prepare(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)state;
    (void)n;
    bench_sunk_begin();
}

/* Some floating-point work, about a tenth of a microsecond. */
static void work(void) {
    double x = 2;
    for (int i = 0; i < 32; i++)
        x = x * 0.999 + 0.001;
    __asm__ volatile("" : : "x"(x));
}

static void compute(bench *b, uint64_t n) {
    const bool helped = tern_context_config(b->context)->service_threads > 0;
    while (bench_sunk_count() < n) {
        for (double end = bench_now() + SLICE_NS; bench_now() < end && bench_sunk_count() < n;)
            work();
        while (!helped && tern_progress(b->worker) > 0)
            ;
    }
}

static tern_worker_id target_of(const way *w) {
    return w->computes ? tern_context_service(w->group.context, w->group.other.rank)
                       : w->group.other;
}

static void take(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    if (w->computes)
        compute(&w->group, n);
    else
        bench_call_await(&w->group, n);
}

static void take_checked(bench *b, void *state, uint64_t n) {
    take(b, state, n);
    bench_sunk_check(n, bench_sunk_expected(BYTES, n));
}

static void call(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    bench_call_stream(&w->group, target_of(w), w->payload, BYTES, n);
}

static void call_return(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    while (n-- > 0) {
        uint64_t size = sizeof size, result = 0;
        bench_ok(tern_call_return(w->group.worker, target_of(w), bench_call_answer, &size,
                                  sizeof size, &result, sizeof result, NULL),
                 "tern_call_return");
        if (result != size)
            bench_fail("tern_call_return gave another result than its handler", TERN_ERR_SYSTEM);
    }
}

static void ask(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_ask(state, n);
}

static void answer(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_answer(state, n);
}

static bench_side side_of(const char *name, bool with_result, way *w) {
    bench_side side =
        bench_way(name, with_result ? call_return : call, with_result ? take : take_checked, w);
    side.prepare = prepare;
    return side;
}

/* Calls to a target that computes, beside calls to one that attends. */
static void measure(way *busy, way *idle, bool with_result, const bench_side *ceiling) {
    bench_case c = {.name = with_result ? "service_return" : "service_rate",
                    .unit = with_result ? BENCH_TIME : BENCH_RATE,
                    .steps = with_result};
    bench_param params[] = {
        {"bytes", BYTES, NULL},
        {"service_threads", tern_context_config(busy->group.context)->service_threads, NULL}};
    memcpy(c.params, params, sizeof params);
    c.measured = side_of("calls to a process that computes", with_result, busy);
    c.ceiling = *ceiling;
    c.peers[c.peer_count++].side =
        side_of(with_result ? "tern_call_return, target attends" : "tern_call, target attends",
                with_result, idle);
    bench_measure(&busy->group, &c);
}

/* Calls between workers that attend, in a context with a service thread and in one without. */
static void cost(way *with, way *without, bool with_result) {
    bench_case c = {
        .name = "service_cost",
        .params = {{"bytes", BYTES, NULL}, {"of", 0, with_result ? "call_return" : "one_way"}},
        .unit = with_result ? BENCH_TIME : BENCH_RATE};
    c.measured = side_of("with a service thread", with_result, with);
    c.ceiling = side_of("without service threads", with_result, without);
    bench_measure(&with->group, &c);
}

static void all_cases(bench *b, way busy[CONTEXTS], way idle[CONTEXTS]) {
    static bench_stream stream;
    bench *quiet = &busy[0].group;
    bench_side rate = bench_way(NULL, NULL, NULL, NULL), trip = rate;
    tern_ptr there = TERN_NULL, back = TERN_NULL;
    ceiling_flag flag = {NULL, NULL, 0};
    if (b->shared) {
        there = bench_place(quiet, BENCH_TARGET, 4096, (void **)&flag.there);
        back = bench_place(quiet, BENCH_ORIGIN, 4096, (void **)&flag.back);
        trip = bench_way("flag round trip", ask, answer, &flag);
        bench_call_ceiling(&stream, BYTES, 0, MPI_COMM_NULL);
        rate = bench_stream_open(quiet, &stream);
    }
    for (size_t i = 0; i < CONTEXTS; i++)
        measure(&busy[i], &idle[0], true, &trip);
    for (size_t i = 0; i < CONTEXTS; i++)
        measure(&busy[i], &idle[0], false, &rate);
    cost(&idle[1], &idle[0], true);
    cost(&idle[1], &idle[0], false);
    if (b->shared) {
        bench_stream_close(quiet, &stream);
        bench_unplace(quiet, BENCH_ORIGIN, back);
        bench_unplace(quiet, BENCH_TARGET, there);
    }
}

void bench_call_service(bench *b) {
    static way busy[CONTEXTS], idle[CONTEXTS];
    if (!bench_selected(b, "service_return") && !bench_selected(b, "service_rate") &&
        !bench_selected(b, "service_cost"))
        return;
    if (!bench_may_thread(b,
                          "service_*, which have more threads, are run by name: --only 'service*'"))
        return;
    for (size_t i = 0; i < CONTEXTS; i++) {
        tern_config config;
        bench_ok(tern_config_init(&config), "tern_config_init");
        config.service_threads = i;
        bench_group_open(b, &busy[i].group, 2, &config, i == 0 ? 1 : 2);
        busy[i].group.helped = true; /* threads of both contexts */
        idle[i] = busy[i];
        busy[i].computes = true;
    }
    all_cases(b, busy, idle);
    for (size_t i = CONTEXTS; i-- > 0;)
        bench_group_close(&busy[i].group);
}
