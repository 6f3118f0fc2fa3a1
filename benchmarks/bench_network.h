/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef TERN_BENCHMARKS_NETWORK_H
#define TERN_BENCHMARKS_NETWORK_H

#include "bench.h"
#include "ceilings/fabric.h"
#include "notified.h"

enum { BENCH_NETWORK_MOST = 1 << 20 }; /* bytes of the largest operation */

/* Notified puts there and back, and streams of puts, by size. fabric NULL: there is no libfabric.
 */
void bench_network_sizes(bench *b, ceiling_fabric *fabric, const char *provider, notified *s);

/* The rate of small puts by 1, 2 and 4 workers of a process, together. */
void bench_network_rates(bench *b);

#endif
