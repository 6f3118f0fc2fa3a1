/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Calls with one large argument: the code that the cases of one pair of workers and of several
 * share. */

#ifndef TERN_BENCHMARKS_ZEROCOPY_H
#define TERN_BENCHMARKS_ZEROCOPY_H

#include "bench.h"

typedef enum bench_zerocopy_way {
    BENCH_RMA_CHUNK,
    BENCH_POINTER_CHUNK,
    BENCH_COPIED
} bench_zerocopy_way;

/* The argument: the memory it is sent from as an RMA chunk, and otherwise. */
typedef struct bench_argument {
    size_t bytes;
    const tern_vector *vector;
    const char *memory;
} bench_argument;

/* Fills memory so that bench_zerocopy_arrived can check the first and last bytes. */
void bench_zerocopy_fill(void *memory, size_t bytes);
/* In a handler: checks the argument by its first and last bytes. */
bool bench_zerocopy_arrived(const tern_call_info *call, const void *arguments, size_t bytes);

/* Makes n calls, and waits until the argument may be reused. */
void bench_zerocopy_call(tern_worker *worker, tern_worker_id target, const tern_function *function,
                         const bench_argument *argument, bench_zerocopy_way how, uint64_t n);

/* Both ranks call it: each gives its own pointer and gets the other's. */
tern_ptr bench_zerocopy_swap(bench *b, tern_ptr mine);

/* 1, 2 and 4 pairs of workers at once. */
void bench_zerocopy_workers(bench *b);

#endif
