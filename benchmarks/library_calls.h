/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#ifndef TERN_BENCHMARKS_LIBRARY_CALLS_H
#define TERN_BENCHMARKS_LIBRARY_CALLS_H

#include "bench.h"

/* Puts a word and flushes, n times, by functions of the library. words: 64 of them. */
void bench_library_put_flush(bench *b, tern_ptr to, const uint64_t *words, uint64_t n);

#endif
