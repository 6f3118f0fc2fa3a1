/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The code that the cases of `tern-bench notify` share: memory that both ranks put to and get from,
 * tern's own loops over it, and the ways of plain MPI to do the same.
 */

#ifndef TERN_BENCHMARKS_NOTIFIED_H
#define TERN_BENCHMARKS_NOTIFIED_H

#include "bench.h"
#include "window.h"
#include "ceilings/ceilings.h"
#include "ceilings/message.h"
#include "ceilings/put_poll.h"

enum { NOTIFIED_MAX = 4 << 20, NOTIFIED_LOOPS = 10000 };

/* Each rank has its own. */
typedef struct notified {
    tern_worker *worker;
    tern_worker_id other;
    tern_ptr to;   /* NOTIFIED_MAX bytes of the other rank's memory */
    tern_ptr mine; /* NOTIFIED_MAX bytes of this rank's memory, for the other rank's puts */
    void *there;   /* address of to, or NULL */
    void *here;    /* address of mine */
    char *local;   /* this process's own, NOTIFIED_MAX bytes */
    size_t bytes, cid_bytes;
    uint64_t count; /* round trips so far, the same on both sides */
    bench_window *window;
    ceiling_messages messages;
} notified;

/* Both ranks call these. */
void notified_open(bench *b, notified *s, tern_worker *worker, bench_window *window);
void notified_close(bench *b, notified *s);

/* tern_put_notify, tern_get_notify, repeated while a limit is reached. local: with a local
 * event. */
void notified_put(notified *s, uint64_t number, bool local);
void notified_get(notified *s, uint64_t number);
/* Waits for so many events, and checks that each is of an operation of the right size. */
void notified_await(notified *s, unsigned which, uint64_t count);

/* Functions of sides; state is a notified. Round trips of notified puts: */
void notified_ask(bench *b, void *state, uint64_t n);
void notified_answer(bench *b, void *state, uint64_t n);
/* a target that probes for n events, by tern_probe_each; */
void notified_target(bench *b, void *state, uint64_t n);
/* the same by MPI_Put, MPI_Win_flush and a message with the cid, and by messages with both. */
void notified_mpi_ask(bench *b, void *state, uint64_t n);
void notified_mpi_answer(bench *b, void *state, uint64_t n);
void notified_messages_ask(bench *b, void *state, uint64_t n);
void notified_messages_answer(bench *b, void *state, uint64_t n);

/* Returns the fastest way to receive round trips of such messages here. */
ceiling_receive notified_fastest_receive(bench *b, notified *s);

/* The parts of `tern-bench notify`. Both ranks call each. */

/* bench_notify_sizes.c: latency and bandwidth by size. */
void bench_notify_sizes(bench *b, notified *s);

/* bench_notify_idle_rings.c: what idle rings cost. */
void bench_notify_idle_rings(bench *b);

/* bench_notify_flood.c: gets to random places of a neighbour, from both ranks at once. */
void bench_notify_flood(bench *b, notified *s);

/* bench_notify_idle.c: the two ranks of b, while the other ranks of its world sleep
 * (bench_notify_sleep). */
void bench_notify_idle(bench *b);

#endif
