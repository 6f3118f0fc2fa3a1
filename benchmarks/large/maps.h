/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Private maps of C++ that stand beside a large table. */

#ifndef TERN_BENCHMARKS_LARGE_MAPS_H
#define TERN_BENCHMARKS_LARGE_MAPS_H

#include "large/waits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct large_result {
    double insert_ns, find_ns, bytes; /* of a key */
    large_waits waits;                /* times of single inserts */
} large_result;

/* Inserts keys numbers into an empty map, one by one, and finds each. */
#ifdef TERN_BENCH_UNORDERED
void large_unordered(uint64_t keys, large_result *result);
#endif
#ifdef TERN_BENCH_ABSEIL
void large_abseil(uint64_t keys, large_result *result);
#endif

#ifdef __cplusplus
}
#endif

#endif
