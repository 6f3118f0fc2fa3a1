/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "window.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Whether the call succeeded on both ranks. */
static bool agreed(bench *b, int error) {
    int worst = error;
    bench_mpi(MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MAX, b->comm), "MPI_Allreduce");
    return worst == MPI_SUCCESS;
}

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail("mmap", TERN_ERR_MEMORY);
    memset(memory, 1, bytes);
    return memory;
}

static const char *const calls[] = {[BENCH_WINDOW_CREATE] = "MPI_Win_create",
                                    [BENCH_WINDOW_ALLOCATE] = "MPI_Win_allocate",
                                    [BENCH_WINDOW_SHARED] = "MPI_Win_allocate_shared",
                                    [BENCH_WINDOW_DYNAMIC] = "MPI_Win_create_dynamic"};

/* Whether the program gives the window its memory. */
static bool is_own(const bench_window *window) {
    return window->kind == BENCH_WINDOW_CREATE || window->kind == BENCH_WINDOW_DYNAMIC;
}

static int make(bench *b, bench_window *w, size_t bytes) {
    const MPI_Aint size = (MPI_Aint)bytes;
    int error;
    if (is_own(w))
        w->base = map(bytes);
    switch (w->kind) {
    case BENCH_WINDOW_CREATE:
        return MPI_Win_create(w->base, size, 1, MPI_INFO_NULL, b->comm, &w->win);
    case BENCH_WINDOW_ALLOCATE:
        return MPI_Win_allocate(size, 1, MPI_INFO_NULL, b->comm, (void *)&w->base, &w->win);
    case BENCH_WINDOW_SHARED:
        return MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, b->comm, (void *)&w->base, &w->win);
    default:
        error = MPI_Win_create_dynamic(MPI_INFO_NULL, b->comm, &w->win);
        return error != MPI_SUCCESS ? error : MPI_Win_attach(w->win, w->base, size);
    }
}

/* Tells the other rank where this rank's part begins. */
static void exchange(bench *b, bench_window *window) {
    MPI_Aint mine;
    const int other = 1 - b->rank;
    bench_mpi(MPI_Get_address(window->base, &mine), "MPI_Get_address");
    bench_mpi(MPI_Sendrecv(&mine, 1, MPI_AINT, other, 0, &window->at, 1, MPI_AINT, other, 0,
                           b->comm, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
}

bool bench_window_open_kind(bench *b, bench_window *window, bench_window_kind kind, size_t bytes) {
    *window = (bench_window){.win = MPI_WIN_NULL, .kind = kind, .how = calls[kind]};
    const int error = make(b, window, bytes);
    if (!agreed(b, error)) {
        if (window->win != MPI_WIN_NULL && error == MPI_SUCCESS)
            MPI_Win_free(&window->win);
        if (is_own(window))
            munmap(window->base, bytes);
        return false;
    }
    if (kind == BENCH_WINDOW_DYNAMIC)
        exchange(b, window);
    if (!is_own(window))
        memset(window->base, 1, bytes);
    window->bytes = bytes;
    window->source = map(bytes);
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    bench_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win), "MPI_Win_lock_all");
    bench_meet(b);
    return true;
}

void bench_window_close(bench *b, bench_window *window) {
    if (window->bytes == 0)
        return;
    bench_meet(b);
    bench_mpi(MPI_Win_unlock_all(window->win), "MPI_Win_unlock_all");
    if (window->kind == BENCH_WINDOW_DYNAMIC)
        bench_mpi(MPI_Win_detach(window->win, window->base), "MPI_Win_detach");
    bench_mpi(MPI_Win_free(&window->win), "MPI_Win_free");
    if (is_own(window))
        munmap(window->base, window->bytes);
    munmap(window->source, window->bytes);
    window->bytes = 0;
}

/* The kind whose put is the fastest between two ranks that share memory. */
static bench_window_kind fastest(bench *b) {
    enum { WORD = 8, BYTES = 4096, KINDS = BENCH_WINDOW_DYNAMIC };
    bench_window windows[KINDS];
    bench_window_operation puts[KINDS];
    bench_side sides[KINDS];
    size_t count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        if (!bench_window_open_kind(b, &windows[count], (bench_window_kind)kind, BYTES))
            continue;
        puts[count] = (bench_window_operation){&windows[count], WORD};
        sides[count] = bench_way(windows[count].how, bench_window_put, NULL, &puts[count]);
        count++;
    }
    const size_t best = count > 1 ? bench_fastest(b, sides, count) : 0;
    const bench_window_kind kind = count > 0 ? windows[best].kind : BENCH_WINDOW_CREATE;
    for (size_t i = 0; i < count; i++)
        bench_window_close(b, &windows[i]);
    return kind;
}

void bench_window_open(bench *b, bench_window *window, size_t bytes) {
    bench_window_kind first = BENCH_WINDOW_CREATE;
    if (b->shared && !b->options.list)
        first = fastest(b);
    if (bench_window_open_kind(b, window, first, bytes))
        return;
    if (!bench_window_open_kind(b, window, BENCH_WINDOW_SHARED, bytes))
        bench_note(b, "no window can be had from this MPI: nothing of MPI's beside tern");
}

const char *bench_window_name(const bench_window *window, const char *operation) {
    static char names[64][64];
    static size_t used;
    char *name = names[used++ % 64];
    snprintf(name, sizeof names[0], "%s + flush (%s)", operation,
             window->how + sizeof "MPI_Win_" - 1);
    return name;
}

static void flush(bench *b, MPI_Win win) {
    bench_mpi(MPI_Win_flush((int)b->other.rank, win), "MPI_Win_flush");
}

void bench_window_put(bench *b, void *operation, uint64_t n) {
    const bench_window_operation *o = operation;
    MPI_Win win = o->window->win;
    int bytes = (int)o->bytes, other = (int)b->other.rank;
    while (n-- > 0) {
        bench_mpi(
            MPI_Put(o->window->source, bytes, MPI_BYTE, other, o->window->at, bytes, MPI_BYTE, win),
            "MPI_Put");
        flush(b, win);
    }
}

void bench_window_get(bench *b, void *operation, uint64_t n) {
    const bench_window_operation *o = operation;
    MPI_Win win = o->window->win;
    int bytes = (int)o->bytes, other = (int)b->other.rank;
    while (n-- > 0) {
        bench_mpi(
            MPI_Get(o->window->source, bytes, MPI_BYTE, other, o->window->at, bytes, MPI_BYTE, win),
            "MPI_Get");
        flush(b, win);
    }
}

void bench_window_fetch_add(bench *b, void *operation, uint64_t n) {
    const bench_window_operation *o = operation;
    MPI_Win win = o->window->win;
    uint64_t one = 1, old = 0;
    while (n-- > 0) {
        bench_mpi(MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, (int)b->other.rank, o->window->at,
                                   MPI_SUM, win),
                  "MPI_Fetch_and_op");
        flush(b, win);
    }
}

void bench_window_compare_and_swap(bench *b, void *operation, uint64_t n) {
    const bench_window_operation *o = operation;
    MPI_Win win = o->window->win;
    uint64_t expected = 0, next, old = 0;
    while (n-- > 0) {
        next = expected + 1;
        bench_mpi(MPI_Compare_and_swap(&next, &expected, &old, MPI_UINT64_T, (int)b->other.rank,
                                       o->window->at + 64, win),
                  "MPI_Compare_and_swap");
        flush(b, win);
        expected = old == expected ? next : old;
    }
}
