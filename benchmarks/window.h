/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI's own one-sided operations as peers, on a window of both ranks that every rank has locked.
 *
 * What an operation costs depends on how its window was made. MPI may reach memory that it
 * allocated itself by load and store, and memory of the program only with the target's help. So a
 * peer has to be the fastest kind of window that this MPI has.
 */

#ifndef TERN_BENCHMARKS_WINDOW_H
#define TERN_BENCHMARKS_WINDOW_H

#include "bench.h"

typedef enum bench_window_kind {
    BENCH_WINDOW_CREATE,
    BENCH_WINDOW_ALLOCATE,
    BENCH_WINDOW_SHARED,
    BENCH_WINDOW_DYNAMIC,
    BENCH_WINDOW_KINDS
} bench_window_kind;

typedef struct bench_window {
    MPI_Win win;
    bench_window_kind kind;
    void *base;      /* this rank's part */
    MPI_Aint at;     /* displacement of the other rank's part; 0 unless it is dynamic */
    size_t bytes;    /* of each part; 0: there is no window */
    void *source;    /* private memory of as many bytes */
    const char *how; /* the call that made the window */
} bench_window;

/* Collective. Ranks that share memory get a window of the kind whose put of 8 bytes with a flush is
 * the fastest here; never a dynamic one. Others get one of MPI_Win_create over the program's own
 * memory or, if MPI refuses that, of MPI_Win_allocate_shared. If MPI refuses all, a note is written
 * and bytes is 0. */
void bench_window_open(bench *b, bench_window *window, size_t bytes);
/* Collective. The same for a window of that kind; returns whether MPI has made it. */
bool bench_window_open_kind(bench *b, bench_window *window, bench_window_kind kind, size_t bytes);
void bench_window_close(bench *b, bench_window *window);

/* "MPI_Put + flush (create)", after the call that made the window. Static memory, for as many names
 * as the program has. */
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
