/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What rings cost that were used once and are idle: a probe and a round of progress that find
 * nothing, in contexts of more and more workers, each beside the same in a context of two. All
 * workers of both ranks have notified and called the worker that is measured, so it has two rings
 * from each.
 */

#include "notified.h"

enum { MANY = 1024, CHANNELS = 2, PATIENCE_S = 120, POLLS = 64, COOL = 1000 };

static uint64_t calls_taken;

static tern_status take_call(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    calls_taken++;
    return TERN_OK;
}
TERN_FUNCTION(take_call)

static const tern_worker_id measured = {BENCH_ORIGIN, 0};

static void send_from(tern_worker *worker) {
    tern_status status;
    tern_event event;
    bench_ok(tern_put_notify(worker, measured, TERN_NULL, NULL, 0, NULL), "tern_put_notify");
    bench_ok(tern_event_wait(worker, TERN_PROBE_LOCAL, &event), "tern_event_wait");
    while ((status = tern_call(worker, measured, &take_call_function, NULL, 0)) == TERN_ERR_AGAIN)
        (void)tern_progress(worker);
    bench_ok(status, "tern_call");
    bench_ok(tern_flush_all(worker), "tern_flush_all");
}

/* Each worker but the measured one, one after the other in this thread. */
static void send_from_all(bench *own, uint32_t workers) {
    if (own->rank != (int)measured.rank)
        send_from(own->worker);
    for (uint32_t i = 1; i < workers; i++) {
        tern_worker *worker;
        bench_ok(tern_worker_adopt(own->context, i, &worker), "tern_worker_adopt");
        send_from(worker);
        bench_ok(tern_worker_release(worker), "tern_worker_release");
    }
}

/* Until all has come and all rings but the few that are always polled have gone to sleep. */
static void come_to_rest(bench *own, uint64_t origins) {
    const uint64_t awake = CHANNELS * tern_context_config(own->context)->active_rings;
    const uint64_t rings = CHANNELS * origins;
    uint64_t notified = 0;
    tern_stats stats = {0};
    const double begin = MPI_Wtime();
    while ((notified < origins || calls_taken < origins || stats.rings_idled + awake < rings) &&
           MPI_Wtime() - begin < PATIENCE_S) {
        tern_event event;
        notified += tern_probe(own->worker, TERN_PROBE_ANY, &event) == TERN_OK;
        (void)tern_progress(own->worker);
        tern_stats_get(own->worker, &stats);
    }
    if (notified < origins || calls_taken < origins)
        bench_fail("not all notifications and calls have come", TERN_ERR_TIMEOUT);
    if (stats.rings_idled + awake < rings)
        bench_note(own, "%llu of %llu rings have gone to sleep within %d s",
                   (unsigned long long)stats.rings_idled, (unsigned long long)rings, PATIENCE_S);
}

static void idle_rings_open(bench *b, bench *own, uint32_t workers) {
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.workers = workers;
    config.idle_polls = POLLS;
    config.ring_memory = 2 * CHANNELS * 2 * (size_t)workers * config.ring_size;
    calls_taken = 0;
    bench_group_open(b, own, 2, &config, 1);
    send_from_all(own, workers);
    if (own->rank == (int)measured.rank)
        come_to_rest(own, 2 * (uint64_t)workers - 1);
    bench_ok(tern_barrier(own->worker), "tern_barrier");
    /* For a while after something has come, the network is asked in every round. */
    for (int i = 0; i < COOL; i++)
        (void)tern_progress(own->worker);
}

static void probe(bench *b, void *state, uint64_t n) {
    const bench *own = state;
    tern_event event;
    (void)b;
    while (n-- > 0)
        if (tern_probe(own->worker, TERN_PROBE_ANY, &event) != TERN_ERR_EMPTY)
            bench_fail("tern_probe found something", TERN_ERR_SYSTEM);
}

static void round_of(bench *b, void *state, uint64_t n) {
    const bench *own = state;
    (void)b;
    while (n-- > 0)
        (void)tern_progress(own->worker);
}

static void measure(bench *own, const char *name, void (*run)(bench *, void *, uint64_t),
                    uint32_t workers, bench *few) {
    const bench_case c = {.name = name,
                          .params = {{"rings", CHANNELS * (2 * (uint64_t)workers - 1), NULL}},
                          .measured = bench_way("tern", run, NULL, own),
                          .ceiling = bench_way("with 2 rings", run, NULL, few),
                          .ratio_target = 2};
    bench_measure(own, &c);
}

void bench_notify_idle_rings(bench *b) {
    static bench few, own;
    if (!bench_selected(b, "idle_ring_probe") && !bench_selected(b, "idle_ring_round"))
        return;
    if (!bench_may_thread(
            b, "idle_ring_*, which has more workers, is run by name: --only 'idle_ring*'"))
        return;
    idle_rings_open(b, &few, 1);
    for (uint32_t workers = 64; workers <= MANY; workers *= 4) {
        idle_rings_open(b, &own, workers);
        measure(&own, "idle_ring_probe", probe, workers, &few);
        measure(&own, "idle_ring_round", round_of, workers, &few);
        bench_group_close(&own);
    }
    bench_group_close(&few);
}
