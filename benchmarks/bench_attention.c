/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Attention: the target computes for two seconds and calls neither tern nor MPI; it only loads the
 * word that the origin puts to. Measured are the times until the put is complete at the origin, and
 * until the target has seen it. Over shared memory many puts, each beside a bare store with a
 * fence, fit into these two seconds; only one put of MPI fits.
 */

#include "bench.h"
#include "window.h"
#include "ceilings/ceilings.h"

enum { PAIRS = 201, PUTS = 2 * PAIRS, LINE = 128 };

/* A rank that was away for so long had lost its core, so its measurement is not used. */
#define BLINK_NS 5e4

/* A put and a store by turns. Each writes the next number, so that the target can tell them
 * apart. */
typedef struct trial {
    double start[PUTS], complete[PUTS], seen[PUTS];
    double blink[PUTS]; /* how long before it saw the number the target had last looked */
    size_t puts;
} trial;

static void wait_until(double when) {
    while (bench_now() < when)
        ;
}

/* Some floating-point work between two loads, about a tenth of a microsecond. */
static double work(double x) {
    for (int i = 0; i < 32; i++)
        x = x * 0.999 + 0.001;
    return x;
}

/* Computes until the given time. [out] t: when the target saw which number. */
static void compute(const uint64_t *word, double until, trial *t) {
    double now, before = bench_now(), gap = 0, gap_before, x = 2;
    uint64_t last = 0;
    do {
        x = work(x);
        __asm__ volatile("" : : "x"(x));
        uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        now = bench_now();
        gap_before = gap;
        gap = now - before;
        for (; last < value && last < t->puts; last++) {
            t->seen[last] = now;
            /* The target may have lost its core right after a load that came too early. */
            t->blink[last] = gap > gap_before ? gap : gap_before;
        }
        before = now;
    } while (now < until);
}

static void attend(bench *b, const uint64_t *word, double compute_ns, trial *t) {
    for (size_t i = 0; i < PUTS; i++)
        t->seen[i] = t->blink[i] = 0;
    bench_meet(b);
    compute(word, bench_now() + compute_ns, t);
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < t->puts) {
        int there;
        (void)tern_progress(b->worker);
        bench_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, b->comm, &there, MPI_STATUS_IGNORE),
                  "MPI_Iprobe");
    }
    double now = bench_now();
    for (size_t i = 0; i < t->puts; i++)
        if (t->seen[i] == 0)
            t->seen[i] = now;
    bench_send(b, t->seen, sizeof t->seen);
    bench_send(b, t->blink, sizeof t->blink);
}

/* The origin begins when the target has computed for a twentieth of its time. */
static double begin(bench *b, double compute_ns) {
    bench_meet(b);
    double start = bench_now() + compute_ns / 20;
    wait_until(start);
    return start;
}

static void put_tern(bench *b, tern_ptr p, uint64_t *word, double compute_ns, trial *t) {
    double start = begin(b, compute_ns);
    for (uint64_t i = 0; i < t->puts; i++) {
        uint64_t number = i + 1;
        wait_until(start + (double)i * compute_ns * 0.9 / PUTS);
        t->start[i] = bench_now();
        if (i % 2 == 0) {
            bench_ok(tern_put(b->worker, p, &number, sizeof number), "tern_put");
            bench_ok(tern_flush(b->worker, p.rank), "tern_flush");
        } else {
            __atomic_store_n(word, number, __ATOMIC_RELAXED);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
        t->complete[i] = bench_now();
    }
    bench_receive(b, t->seen, sizeof t->seen);
    bench_receive(b, t->blink, sizeof t->blink);
}

static void put_mpi(bench *b, bench_window *window, double compute_ns, trial *t) {
    uint64_t *number = window->source;
    *number = 1;
    (void)begin(b, compute_ns);
    t->start[0] = bench_now();
    bench_mpi(MPI_Put(number, sizeof *number, MPI_BYTE, (int)b->other.rank, 0, sizeof *number,
                      MPI_BYTE, window->win),
              "MPI_Put");
    bench_mpi(MPI_Win_flush((int)b->other.rank, window->win), "MPI_Win_flush");
    t->complete[0] = bench_now();
    bench_receive(b, t->seen, sizeof t->seen);
    bench_receive(b, t->blink, sizeof t->blink);
}

/* Whether the target lost its core, or the origin lost its core within a put, which over shared
 * memory cannot wait. */
static bool blinked(const trial *t, size_t pair) {
    bool any = false;
    for (size_t i = 2 * pair; i < 2 * pair + 2 && t->puts > 1; i++)
        any |= t->blink[i] > BLINK_NS || t->complete[i] - t->start[i] > BLINK_NS;
    return any;
}

/* Reports the times of one kind, complete or seen, as pairs of put and store, and MPI's single one.
 * Pairs during which a rank lost its core are left out, unless that happened in all. */
static void report(bench *b, bench_case *c, const trial *tern, const double *tern_end,
                   const trial *mpi, const double *mpi_end) {
    static bench_times times;
    const size_t all = tern->puts > 1 ? tern->puts / 2 : 1;
    size_t left_out = 0;
    for (size_t i = 0; i < all; i++)
        left_out += blinked(tern, i);
    times.pairs = 0;
    times.disturbed = left_out == all ? (unsigned)(2 * all) : 0;
    for (size_t i = 0; i < all; i++) {
        if (blinked(tern, i) && left_out < all)
            continue;
        size_t to = times.pairs++;
        times.measured[to] = tern_end[2 * i] - tern->start[2 * i];
        if (tern->puts > 1)
            times.ceiling[to] = tern_end[2 * i + 1] - tern->start[2 * i + 1];
        times.peer[0][to] = mpi_end[0] - mpi->start[0];
    }
    bench_report(b, c, &times);
}

void bench_attention(bench *b) {
    static trial tern, mpi;
    const double compute_ns = b->options.quick ? 0.5e9 : 2e9;
    const double at_once = b->shared ? 1e6 : 0;
    bench_case c = {
        .name = "complete",
        .params = {{"bytes", 8, NULL}, {"compute_ms", (uint64_t)(compute_ns / 1e6), NULL}},
        .time_target = at_once};
    bench_window window;
    void *word;
    if (!bench_selected(b, "complete") && !bench_selected(b, "seen"))
        return;
    if (!b->same_kernel) {
        bench_note(b, "skipped: the two ranks have no clock in common");
        return;
    }
    tern_ptr p = bench_place(b, BENCH_TARGET, LINE, &word);
    bench_window_open(b, &window, 4096);
    if (window.bytes > 0)
        memset(window.base, 0, sizeof(uint64_t));
    tern.puts = b->shared ? PUTS : 1;
    mpi.puts = 1;
    if (b->rank == BENCH_ORIGIN) {
        bench_progress(b, &c);
        put_tern(b, p, word, compute_ns, &tern);
        if (window.bytes > 0)
            put_mpi(b, &window, compute_ns, &mpi);
        c.measured.name = "tern_put + tern_flush";
        if (b->shared)
            c.ceiling.name = "store + fence";
        if (window.bytes > 0)
            c.peers[c.peer_count++].side.name = bench_window_name(&window, "MPI_Put");
        report(b, &c, &tern, tern.complete, &mpi, mpi.complete);
        c.name = "seen";
        report(b, &c, &tern, tern.seen, &mpi, mpi.seen);
    } else {
        attend(b, word, compute_ns, &tern);
        if (window.bytes > 0)
            attend(b, window.base, compute_ns, &mpi);
    }
    bench_window_close(b, &window);
    bench_unplace(b, BENCH_TARGET, p);
}
