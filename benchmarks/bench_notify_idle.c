/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Round trips between two busy ranks in contexts of more and more ranks, each beside the same in a
 * context of the two ranks alone. Each other rank first notifies both busy ranks once, so that it
 * has rings there, and then sleeps on a semaphore in shared memory: a rank that waits inside MPI
 * would spin, and a thread that wakes now and then would take a core away from the busy ranks. All
 * ranks have to be on one machine for that.
 */

#include "notified.h"

#include <errno.h>
#include <semaphore.h>

/* The sizes: powers of two, and the number of all ranks. 0 ends them. */
static int next_size(int size, int all) {
    if (size == all)
        return 0;
    return size * 2 < all ? size * 2 : all;
}

/* One semaphore for each rank, in memory of rank 0. NULL: the ranks have no memory in common. */
static sem_t *open_semaphores(MPI_Comm world, MPI_Win *win) {
    MPI_Comm node;
    MPI_Aint bytes;
    sem_t *all = NULL;
    int rank, size, here, unit;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    bench_mpi(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    int least = here;
    bench_mpi(MPI_Allreduce(&here, &least, 1, MPI_INT, MPI_MIN, world), "MPI_Allreduce");
    if (least < size)
        return NULL;
    bytes = rank == 0 ? (MPI_Aint)sizeof(sem_t) * size : 0;
    bench_mpi(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, world, &all, win),
              "MPI_Win_allocate_shared");
    bench_mpi(MPI_Win_shared_query(*win, 0, &bytes, &unit, &all), "MPI_Win_shared_query");
    for (int i = 0; rank == 0 && i < size; i++)
        if (sem_init(&all[i], 1, 0) != 0)
            bench_fail("sem_init", TERN_ERR_SYSTEM);
    bench_mpi(MPI_Barrier(world), "MPI_Barrier");
    return all;
}

static void sleep_on(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

static void wake(sem_t *all, int size) {
    for (int i = 2; i < size; i++)
        sem_post(&all[i]);
}

/* Those ranks create a context of the first ranks of world. Its heap is small, since there are
 * many. */
static void open_context(MPI_Comm world, int ranks, tern_context **context, tern_worker **worker) {
    enum { HEAP = 16 << 20 };
    const int first[1][3] = {{0, ranks - 1, 1}};
    int range[1][3];
    MPI_Group group, part;
    MPI_Comm comm;
    tern_config config;
    memcpy(range, first, sizeof range);
    MPI_Comm_group(world, &group);
    MPI_Group_range_incl(group, 1, range, &part);
    bench_mpi(MPI_Comm_create_group(world, part, ranks, &comm), "MPI_Comm_create_group");
    MPI_Group_free(&part);
    MPI_Group_free(&group);
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.segment_size = HEAP;
    bench_ok(tern_context_create(comm, &config, context), "tern_context_create");
    bench_ok(tern_worker_adopt(*context, 0, worker), "tern_worker_adopt");
    MPI_Comm_free(&comm);
}

static void close_context(tern_context *context, tern_worker *worker) {
    bench_ok(tern_worker_release(worker), "tern_worker_release");
    bench_ok(tern_context_destroy(context), "tern_context_destroy");
}

/* An idle rank sends a word to both busy ranks, and then sleeps. */
static void sleep_in_context(MPI_Comm world, int ranks, sem_t *bed) {
    tern_context *context;
    tern_worker *worker;
    tern_event event;
    open_context(world, ranks, &context, &worker);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const tern_worker_id busy = {rank, 0};
        bench_ok(tern_put_notify(worker, busy, TERN_NULL, NULL, 0, NULL), "tern_put_notify");
        bench_ok(tern_event_wait(worker, TERN_PROBE_LOCAL, &event), "tern_event_wait");
    }
    sleep_on(bed);
    close_context(context, worker);
}

void bench_notify_sleep(MPI_Comm world) {
    int rank, size;
    MPI_Win win;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    sem_t *all = open_semaphores(world, &win);
    if (all == NULL)
        return;
    for (int ranks = 4 < size ? 4 : size; ranks > 0; ranks = next_size(ranks, size)) {
        if (rank >= ranks)
            continue;
        sleep_on(&all[rank]);
        sleep_in_context(world, ranks, &all[rank]);
    }
    sleep_on(&all[rank]);
    MPI_Win_free(&win);
}

static void measure(bench *b, int ranks, sem_t *all, notified *alone) {
    bench own = *b;
    notified s;
    bench_case c = {.name = "idle",
                    .params = {{"bytes", 8, NULL}, {"ranks", (uint64_t)ranks, NULL}},
                    .ceiling =
                        bench_way("in a context of 2 ranks", notified_ask, notified_answer, alone),
                    .ratio_target = 1.1};
    if (b->rank == 0)
        wake(all, ranks);
    open_context(b->world, ranks, &own.context, &own.worker);
    notified_open(&own, &s, own.worker, alone->window);
    s.bytes = 0; /* of the words of the idle ranks */
    notified_await(&s, TERN_PROBE_REMOTE, (uint64_t)ranks - 2);
    s.bytes = s.cid_bytes = 8;
    c.measured = bench_way("tern_put_notify", notified_ask, notified_answer, &s);
    bench_measure(&own, &c);
    notified_close(&own, &s);
    if (b->rank == 0)
        wake(all, ranks);
    close_context(own.context, own.worker);
}

void bench_notify_idle(bench *b) {
    bench_window none = {.bytes = 0};
    notified alone;
    MPI_Win win;
    int size;
    MPI_Comm_size(b->world, &size);
    if (size == 2)
        return;
    sem_t *all = open_semaphores(b->world, &win);
    if (all == NULL) {
        bench_note(b, "skipped: the idle ranks are not all on this machine");
        return;
    }
    notified_open(b, &alone, b->worker, &none);
    alone.bytes = alone.cid_bytes = 8;
    for (int ranks = 4 < size ? 4 : size; ranks > 0; ranks = next_size(ranks, size))
        measure(b, ranks, all, &alone);
    notified_close(b, &alone);
    if (b->rank == 0)
        wake(all, size);
    MPI_Win_free(&win);
}
