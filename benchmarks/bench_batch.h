/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef TERN_BENCHMARKS_BENCH_BATCH_H
#define TERN_BENCHMARKS_BENCH_BATCH_H

#include "bench.h"

/* Two words, in which both ranks tell each other how many blocks they have finished. */
typedef struct bench_ends {
    tern_ptr there; /* the other rank's */
    uint64_t *here;
    uint64_t blocks;
} bench_ends;

/* Both ranks return when both have finished a block; the first one serves the other meanwhile. */
void bench_end_together(bench *b, bench_ends *ends);

/* Many keys of a map (bench_batch_map.c). */
void bench_batch_maps(bench *b, bench_ends *ends);

#endif
