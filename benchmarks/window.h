/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI's own one-sided operations as peers, on a window of both ranks that every rank has locked.
 */

#ifndef TERN_BENCHMARKS_WINDOW_H
#define TERN_BENCHMARKS_WINDOW_H

#include "bench.h"

typedef struct bench_window {
    MPI_Win win;
    void *base;      /* this rank's part */
    size_t bytes;    /* of each part; 0: there is no window */
    void *source;    /* private memory of as many bytes */
    const char *how; /* the call that made the window */
} bench_window;

/* Collective. Creates the window by MPI_Win_create over the program's own memory or, if MPI refuses
 * that, by MPI_Win_allocate_shared. If MPI refuses both, a note is written and bytes is 0. */
void bench_window_open(bench *b, bench_window *window, size_t bytes);
void bench_window_close(bench *b, bench_window *window);

/* "MPI_Put + flush (MPI_Win_create)". Static memory, for as many names as the program has. */
const char *bench_window_name(const bench_window *window, const char *operation);

/* State of the origin functions below. Each operation is followed by MPI_Win_flush. */
typedef struct bench_window_operation {
    bench_window *window;
    size_t bytes;
} bench_window_operation;

void bench_window_put(bench *b, void *operation, uint64_t n);
void bench_window_get(bench *b, void *operation, uint64_t n);
void bench_window_fetch_add(bench *b, void *operation, uint64_t n);
void bench_window_compare_and_swap(bench *b, void *operation, uint64_t n);

#endif
