/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The parts of `tern-bench notify`. Both ranks call each. */

#ifndef TERN_BENCHMARKS_NOTIFY_H
#define TERN_BENCHMARKS_NOTIFY_H

#include "notified.h"

/* bench_notify_sizes.c: latency and bandwidth by size. */
void bench_notify_sizes(bench *b, notified *s);

/* bench_notify_flood.c: gets to random places of a neighbour, from both ranks at once. */
void bench_notify_flood(bench *b, notified *s);

/* bench_notify_idle.c: the two ranks of b, while the other ranks of its world sleep
 * (bench_notify_sleep). */
void bench_notify_idle(bench *b);

#endif
