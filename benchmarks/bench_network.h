/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef TERN_BENCHMARKS_NETWORK_H
#define TERN_BENCHMARKS_NETWORK_H

#include "bench.h"

/* The rate of small puts by 1, 2 and 4 workers of a process, together. */
void bench_network_rates(bench *b);

#endif
