/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Rows of cells that several subjects show. */

#ifndef TERN_BENCHMARKS_BENCH_CONTAINERS_H
#define TERN_BENCHMARKS_BENCH_CONTAINERS_H

#include "cells.h"

/* bench_queue.c, bench_hash.c: the rows under each promise. */
void containers_queue(bench *b, const cells *costs);
void containers_hash(bench *b, const cells *costs);

#endif
