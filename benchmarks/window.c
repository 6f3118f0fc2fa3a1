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

void bench_window_open(bench *b, bench_window *window, size_t bytes) {
    *window = (bench_window){.win = MPI_WIN_NULL, .how = "MPI_Win_create"};
    void *own = map(bytes);
    window->base = own;
    int error = MPI_Win_create(own, (MPI_Aint)bytes, 1, MPI_INFO_NULL, b->comm, &window->win);
    if (!agreed(b, error)) {
        if (error == MPI_SUCCESS)
            MPI_Win_free(&window->win);
        munmap(own, bytes);
        window->how = "MPI_Win_allocate_shared";
        error = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, b->comm, &window->base,
                                        &window->win);
        if (!agreed(b, error)) {
            if (error == MPI_SUCCESS)
                MPI_Win_free(&window->win);
            bench_note(b, "no window can be had from this MPI: nothing of MPI's beside tern");
            return;
        }
        memset(window->base, 1, bytes);
    }
    window->bytes = bytes;
    window->source = map(bytes);
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    bench_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win), "MPI_Win_lock_all");
    bench_meet(b);
}

void bench_window_close(bench *b, bench_window *window) {
    if (window->bytes == 0)
        return;
    bool own = strcmp(window->how, "MPI_Win_create") == 0;
    bench_meet(b);
    bench_mpi(MPI_Win_unlock_all(window->win), "MPI_Win_unlock_all");
    bench_mpi(MPI_Win_free(&window->win), "MPI_Win_free");
    if (own)
        munmap(window->base, window->bytes);
    munmap(window->source, window->bytes);
    window->bytes = 0;
}

const char *bench_window_name(const bench_window *window, const char *operation) {
    static char names[64][64];
    static size_t used;
    char *name = names[used++ % 64];
    snprintf(name, sizeof names[0], "%s + flush (%s)", operation, window->how);
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
        bench_mpi(MPI_Put(o->window->source, bytes, MPI_BYTE, other, 0, bytes, MPI_BYTE, win),
                  "MPI_Put");
        flush(b, win);
    }
}

void bench_window_get(bench *b, void *operation, uint64_t n) {
    const bench_window_operation *o = operation;
    MPI_Win win = o->window->win;
    int bytes = (int)o->bytes, other = (int)b->other.rank;
    while (n-- > 0) {
        bench_mpi(MPI_Get(o->window->source, bytes, MPI_BYTE, other, 0, bytes, MPI_BYTE, win),
                  "MPI_Get");
        flush(b, win);
    }
}

void bench_window_fetch_add(bench *b, void *operation, uint64_t n) {
    const bench_window_operation *o = operation;
    MPI_Win win = o->window->win;
    uint64_t one = 1, old = 0;
    while (n-- > 0) {
        bench_mpi(MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, (int)b->other.rank, 0, MPI_SUM, win),
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
        bench_mpi(
            MPI_Compare_and_swap(&next, &expected, &old, MPI_UINT64_T, (int)b->other.rank, 64, win),
            "MPI_Compare_and_swap");
        flush(b, win);
        expected = old == expected ? next : old;
    }
}
