/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Photon's scaling figure (paper 001, figure 6): every rank floods random neighbours with gets with
 * completion. In the paper one thread posts, a second probes for local events and a third for
 * remote ones. In tern one thread at a time uses a worker, and local events go to the worker that
 * asked. So here one thread posts and probes for its local events, and a second thread probes for
 * the remote ones with a worker of its own, which all gets notify. With two ranks the neighbour is
 * always the other rank; only the place is random.
 */

#include "notified.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { POSTER, PROBER, WORKERS };

typedef struct flood {
    notified *s; /* of the context with two workers */
    tern_context *context;
    size_t bytes;
    uint64_t random;
    /* used by the prober: */
    uint64_t expected;
    atomic_int done;
} flood;

static size_t place_of(flood *f) {
    return ceiling_random(&f->random, NOTIFIED_MAX / f->bytes) * f->bytes;
}

/* Two threads of a rank share its core, and the poster has work when the prober finds no event. */
static void *probe(void *argument) {
    flood *f = argument;
    tern_worker *worker;
    tern_event event;
    bench_ok(tern_worker_adopt(f->context, PROBER, &worker), "tern_worker_adopt");
    for (uint64_t left = f->expected; left > 0;) {
        tern_status status = tern_probe(worker, TERN_PROBE_REMOTE, &event);
        if (status == TERN_ERR_EMPTY) {
            sched_yield();
            continue;
        }
        bench_ok(status, "tern_probe");
        left--;
    }
    bench_ok(tern_worker_release(worker), "tern_worker_release");
    atomic_store(&f->done, 1);
    return NULL;
}

/* Returns a local event, if there is one. */
static uint64_t local_event(const notified *s) {
    tern_event event;
    tern_status status = tern_probe(s->worker, TERN_PROBE_LOCAL, &event);
    if (status == TERN_ERR_EMPTY) {
        sched_yield();
        return 0;
    }
    bench_ok(status, "tern_probe");
    bench_ok(event.status, "a notified get");
    return 1;
}

/* Both ranks do n gets each. */
static void run(bench *b, void *state, uint64_t n) {
    flood *f = state;
    notified *s = f->s;
    const tern_worker_id neighbour = {s->other.rank, PROBER};
    const uint64_t slots = NOTIFIED_MAX / f->bytes;
    pthread_t thread;
    uint64_t done = 0;
    (void)b;
    f->expected = n;
    atomic_store(&f->done, 0);
    if (pthread_create(&thread, NULL, probe, f) != 0)
        bench_fail("pthread_create", TERN_ERR_SYSTEM);
    for (uint64_t i = 0; i < n;) {
        tern_ptr from = s->to;
        from.offset += place_of(f);
        tern_status status = tern_get_notify(
            s->worker, neighbour, s->local + i % slots * f->bytes, from, f->bytes,
            &(tern_notify_options){.local_cid = i, .cid = &i, .cid_bytes = sizeof i});
        if (status == TERN_ERR_AGAIN) {
            done += local_event(s);
            continue;
        }
        bench_ok(status, "tern_get_notify");
        i++;
    }
    while (done < n)
        done += local_event(s);
    while (!atomic_load(&f->done)) {
        (void)tern_progress(s->worker);
        sched_yield();
    }
    pthread_join(thread, NULL);
}

/* The same gets by the processor, and by MPI; both ranks at the same time. */

static void copy(bench *b, void *state, uint64_t n) {
    flood *f = state;
    const uint64_t slots = NOTIFIED_MAX / f->bytes;
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        ceiling_copy(f->s->local + i % slots * f->bytes, (char *)f->s->there + place_of(f),
                     f->bytes, 1);
}

static void get(bench *b, void *state, uint64_t n) {
    enum { UNFLUSHED = 1024 };
    flood *f = state;
    const uint64_t slots = NOTIFIED_MAX / f->bytes;
    bench_window *window = f->s->window;
    int bytes = (int)f->bytes, other = (int)f->s->other.rank;
    (void)b;
    for (uint64_t i = 0; i < n; i++) {
        bench_mpi(MPI_Get((char *)window->source + i % slots * f->bytes, bytes, MPI_BYTE, other,
                          (MPI_Aint)place_of(f), bytes, MPI_BYTE, window->win),
                  "MPI_Get");
        if (i + 1 == n || i % UNFLUSHED == UNFLUSHED - 1)
            bench_mpi(MPI_Win_flush(other, window->win), "MPI_Win_flush");
    }
}

static void measure(bench *b, flood *f) {
    bench_window *window = f->s->window;
    bench_case c = {.name = "flood",
                    .params = {{"bytes", f->bytes, NULL}},
                    .measured = bench_way("tern_get_notify", run, run, f)};
    if (b->shared)
        c.ceiling = bench_way("memcpy, both ranks at once", copy, copy, f);
    else if (window->bytes > 0 && b->transport == TERN_RMA)
        c.ceiling = bench_way(bench_window_name(window, "MPI_Get"), get, get, f);
    if (window->bytes > 0 && b->transport != TERN_RMA)
        c.peers[c.peer_count++].side = bench_way(bench_window_name(window, "MPI_Get"), get, get, f);
    bench_measure(b, &c);
}

void bench_notify_flood(bench *b, notified *outer) {
    static const size_t sizes[] = {8, 128, 1 << 10, 8 << 10, 64 << 10};
    tern_config config;
    tern_worker *worker;
    notified s;
    flood f = {.s = &s, .random = (uint64_t)b->rank + 1};
    if (!bench_selected(b, "flood"))
        return;
    if (!bench_may_thread(b, "flood, which has a second thread, is run by name: --only flood"))
        return;
    bench own = *b; /* with a context of two workers */
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.workers = WORKERS;
    bench_ok(tern_context_create(b->comm, &config, &own.context), "tern_context_create");
    bench_ok(tern_worker_adopt(own.context, POSTER, &worker), "tern_worker_adopt");
    own.worker = worker;
    f.context = own.context;
    notified_open(&own, &s, worker, outer->window);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (b->options.quick && i % 2 == 1)
            continue;
        f.bytes = sizes[i];
        measure(&own, &f);
    }
    notified_close(&own, &s);
    bench_ok(tern_worker_release(worker), "tern_worker_release");
    bench_ok(tern_context_destroy(own.context), "tern_context_destroy");
}
