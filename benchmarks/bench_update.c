/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Updates of contended objects: both ranks at the same time add 1 to words in the target's memory.
 * Either one object takes all updates, or 4,096 objects share them, by Zipf's law or evenly. The
 * figure is the time of one update of one rank until it is done everywhere: a block ends with
 * tern_quiesce, or with a barrier of MPI's. The benchmark counts the additions and compares the
 * sums at the end.
 */

#include "bench.h"
#include "cells.h"
#include "window.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum { OBJECTS = 4096, APART = 64, UPDATES = 1 << 16 };

typedef struct field {
    tern_ptr objects;
    char *address; /* if load and store reach them */
    tern_locks *locks;
    tern_combiner *combiner;
    bench_window window; /* locked only inside a block */
    uint32_t *which;     /* UPDATES indices of this rank */
    uint64_t *counts;
    uint64_t added[2]; /* by this rank: to tern's objects, to the window's */
} field;

static char *held; /* the objects, at the target */

static tern_status bench_update_add(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t update[2], sum;
    (void)call;
    (void)bytes;
    memcpy(update, arguments, sizeof update);
    char *object = held + update[0] % OBJECTS * APART;
    memcpy(&sum, object, sizeof sum);
    sum += update[1];
    memcpy(object, &sum, sizeof sum);
    return TERN_OK;
}
TERN_FUNCTION(bench_update_add)

static const tern_worker_id target = {BENCH_TARGET, 0};

static inline uint64_t object_of(const field *f, uint64_t i) { return f->which[i % UPDATES]; }

static tern_ptr place(const field *f, uint64_t i) {
    return bench_opaque(tern_ptr_add(f->objects, (int64_t)(object_of(f, i) * APART)));
}

static void end(bench *b, field *f, uint64_t n) {
    f->added[0] += n;
    bench_ok(tern_quiesce(b->worker), "tern_quiesce");
}

/* Rank i % 2 keeps lock i. All locks used here are kept by the target. */
static void locked(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (uint64_t i = 0; i < n; i++) {
        size_t lock = 2 * object_of(f, i) + BENCH_TARGET;
        uint64_t word = 0;
        bench_ok(tern_lock_acquire(b->worker, f->locks, lock), "tern_lock_acquire");
        bench_ok(tern_get(b->worker, &word, place(f, i), sizeof word), "tern_get");
        word++;
        bench_ok(tern_put(b->worker, place(f, i), &word, sizeof word), "tern_put");
        bench_ok(tern_lock_release(b->worker, f->locks, lock), "tern_lock_release");
    }
    end(b, f, n);
}

static void publish(bench *b, tern_publish policy) {
    bench_ok(tern_call_policy(b->worker, target, policy, 0), "tern_call_policy");
}

static void called(bench *b, void *state, uint64_t n) {
    field *f = state;
    publish(b, TERN_PUBLISH_BATCHED);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t update[2] = {object_of(f, i), 1};
        bench_ok(tern_call(b->worker, target, &bench_update_add_function, update, sizeof update),
                 "tern_call");
    }
    publish(b, TERN_PUBLISH_WRITE);
    end(b, f, n);
}

static void called_back(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t update[2] = {object_of(f, i), 1};
        bench_ok(tern_call_return(b->worker, target, &bench_update_add_function, update,
                                  sizeof update, NULL, 0, NULL),
                 "tern_call_return");
    }
    end(b, f, n);
}

static void combined(bench *b, void *state, uint64_t n) {
    field *f = state;
    const uint64_t one = 1;
    publish(b, TERN_PUBLISH_BATCHED);
    for (uint64_t i = 0; i < n; i++)
        bench_ok(tern_combine(b->worker, f->combiner, target, object_of(f, i), &one),
                 "tern_combine");
    bench_ok(tern_combiner_flush(b->worker, f->combiner), "tern_combiner_flush");
    publish(b, TERN_PUBLISH_WRITE);
    end(b, f, n);
}

static void added(bench *b, void *state, uint64_t n) {
    field *f = state;
    for (uint64_t i = 0; i < n; i++)
        bench_ok(tern_atomic_fetch_add(b->worker, place(f, i), 1, NULL), "tern_atomic_fetch_add");
    end(b, f, n);
}

static void bare_shared(bench *b, void *state, uint64_t n) {
    field *f = state;
    ceiling_update_shared(f->address, APART, f->which, UPDATES - 1, n);
    end(b, f, n);
}

static void bare_private(bench *b, void *state, uint64_t n) {
    const field *f = state;
    (void)b;
    ceiling_update_private(f->counts, f->which, UPDATES - 1, n);
}

/* MPI's own operations. */

static void end_mpi(bench *b, field *f, uint64_t n) {
    f->added[1] += n;
    bench_mpi(MPI_Barrier(b->comm), "MPI_Barrier");
}

static void mpi_locked(bench *b, void *state, uint64_t n) {
    field *f = state;
    MPI_Win win = f->window.win;
    for (uint64_t i = 0; i < n; i++) {
        MPI_Aint at = (MPI_Aint)(object_of(f, i) * APART);
        uint64_t word = 0;
        bench_mpi(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, BENCH_TARGET, 0, win), "MPI_Win_lock");
        bench_mpi(MPI_Get(&word, 1, MPI_UINT64_T, BENCH_TARGET, at, 1, MPI_UINT64_T, win),
                  "MPI_Get");
        bench_mpi(MPI_Win_flush(BENCH_TARGET, win), "MPI_Win_flush");
        word++;
        bench_mpi(MPI_Put(&word, 1, MPI_UINT64_T, BENCH_TARGET, at, 1, MPI_UINT64_T, win),
                  "MPI_Put");
        bench_mpi(MPI_Win_unlock(BENCH_TARGET, win), "MPI_Win_unlock");
    }
    end_mpi(b, f, n);
}

static void mpi_added(bench *b, void *state, uint64_t n) {
    field *f = state;
    MPI_Win win = f->window.win;
    uint64_t one = 1, old = 0;
    bench_mpi(MPI_Win_lock_all(0, win), "MPI_Win_lock_all");
    for (uint64_t i = 0; i < n; i++) {
        MPI_Aint at = (MPI_Aint)(object_of(f, i) * APART);
        bench_mpi(MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, BENCH_TARGET, at, MPI_SUM, win),
                  "MPI_Fetch_and_op");
        bench_mpi(MPI_Win_flush(BENCH_TARGET, win), "MPI_Win_flush");
    }
    bench_mpi(MPI_Win_unlock_all(win), "MPI_Win_unlock_all");
    end_mpi(b, f, n);
}

/* Returns the sum, which shows whether an update was lost or counted twice. */
static uint64_t sum_of(const char *objects) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i < OBJECTS; i++) {
        memcpy(&word, objects + i * APART, sizeof word);
        sum += word;
    }
    return sum;
}

static void verify(bench *b, const field *f) {
    uint64_t due[2];
    bench_mpi(MPI_Allreduce(f->added, due, 2, MPI_UINT64_T, MPI_SUM, b->comm), "MPI_Allreduce");
    if (b->rank != BENCH_TARGET)
        return;
    if (sum_of(held) != due[0])
        bench_fail("tern's objects do not sum up to what was added", TERN_ERR_SYSTEM);
    if (f->window.bytes == 0)
        return;
    bench_mpi(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, BENCH_TARGET, 0, f->window.win), "MPI_Win_lock");
    if (sum_of(f->window.base) != due[1])
        bench_fail("MPI's objects do not sum up to what was added", TERN_ERR_SYSTEM);
    bench_mpi(MPI_Win_unlock(BENCH_TARGET, f->window.win), "MPI_Win_unlock");
}

static void add_peer(bench_case *c, const char *name, void (*way)(bench *, void *, uint64_t),
                     field *f, double at_least) {
    c->peers[c->peer_count++] = (bench_peer){bench_way(name, way, way, f), at_least};
}

static bench_case case_of(const char *name, const char *load) {
    return (bench_case){.name = name, .params = {{"objects", 0, load}}};
}

static void measure(bench *b, field *f, const char *load) {
    bool window = f->window.bytes > 0;
    bench_case c = case_of("locked", load);
    c.measured = bench_way("tern_lock, get, put", locked, locked, f);
    /* Between two nodes played by one host MPI's window is shared memory, so the target does not
     * apply. */
    if (window)
        add_peer(&c, "MPI_Win_lock, get, put", mpi_locked, f, b->shared || !b->same_host ? 1 : 0);
    bench_measure(b, &c);
    c = case_of("called", load);
    c.measured = bench_way("tern_call, batched", called, called, f);
    if (b->shared)
        c.ceiling = bench_way("locked instruction", bare_shared, bare_shared, f);
    add_peer(&c, "tern_call_return", called_back, f, 0);
    add_peer(&c, "tern_atomic_fetch_add", added, f, 0);
    if (window)
        add_peer(&c, "MPI_Fetch_and_op + flush", mpi_added, f, 0);
    bench_measure(b, &c);
    c = case_of("combined", load);
    c.measured = bench_way("tern_combine, batched", combined, combined, f);
    c.ceiling = bench_way("private counts", bare_private, bare_private, f);
    add_peer(&c, "tern_call, batched", called, f, 0);
    bench_measure(b, &c);
    verify(b, f);
}

/* Draws the object of each update. */
static void draw(bench *b, field *f, const char *load) {
    cells_draw(b, f->which, UPDATES, OBJECTS, strcmp(load, "zipf") == 0 ? 1 : 0);
    if (strcmp(load, "one") == 0)
        memset(f->which, 0, UPDATES * sizeof *f->which);
}

/* Opens a window that no rank has locked. */
static void open_window(bench *b, field *f) {
    bench_window_open(b, &f->window, OBJECTS * APART);
    if (f->window.bytes == 0)
        return;
    bench_mpi(MPI_Win_unlock_all(f->window.win), "MPI_Win_unlock_all");
    memset(f->window.base, 0, f->window.bytes);
    bench_meet(b);
}

static void close_window(bench *b, field *f) {
    bench_meet(b); /* the other rank may still wait for its lock on its own part */
    if (f->window.bytes > 0)
        bench_mpi(MPI_Win_lock_all(0, f->window.win), "MPI_Win_lock_all");
    bench_window_close(b, &f->window);
}

void bench_update(bench *b) {
    static const char *const loads[] = {"one", "zipf", "even"};
    field f = {.which = malloc(UPDATES * sizeof *f.which),
               .counts = calloc(OBJECTS, sizeof *f.counts)};
    if (f.which == NULL || f.counts == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    void *address;
    f.objects = bench_place(b, BENCH_TARGET, OBJECTS * APART, &address);
    f.address = address;
    held = address;
    tern_combiner_options options = {.function = &bench_update_add_function,
                                     .bytes = sizeof(uint64_t)};
    bench_ok(tern_combiner_create(b->worker, &options, &f.combiner), "tern_combiner_create");
    bench_ok(tern_locks_create(b->worker, (size_t)2 * OBJECTS, &f.locks), "tern_locks_create");
    open_window(b, &f);
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        draw(b, &f, loads[i]);
        measure(b, &f, loads[i]);
    }
    close_window(b, &f);
    bench_ok(tern_locks_destroy(b->worker, f.locks), "tern_locks_destroy");
    bench_ok(tern_combiner_destroy(b->worker, f.combiner), "tern_combiner_destroy");
    bench_unplace(b, BENCH_TARGET, f.objects);
    free(f.counts);
    free(f.which);
}
