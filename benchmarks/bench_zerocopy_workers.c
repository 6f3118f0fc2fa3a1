/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls with one large argument by several pairs of workers at once (paper 004, figure 5), with one
 * thread for each on both sides. The figure is the bandwidth of all pairs together, one way, and
 * both ways at once. An operation is one call by each pair, or one each way. The ceiling moves the
 * same bytes by as many threads, one memcpy each.
 */

#include "bench_zerocopy.h"
#include "ceilings/ceilings.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { PAIRS_MAX = 4 };

typedef struct pairs pairs;

/* A worker of this rank, and the worker with the same index of the other rank. */
typedef struct pair {
    pairs *all;
    uint32_t index;
    tern_vector argument;             /* in this rank's segment */
    const char *address;              /* of the other rank's, if load and store reach it */
    char *memory;                     /* private memory of as many bytes */
    _Alignas(64) uint64_t run, wrong; /* calls counted by the worker's own thread */
} pair;

struct pairs {
    bench group; /* with a context of so many workers */
    uint32_t count;
    bool both;
    size_t bytes;
    uint64_t calls; /* of each pair in this block */
    void (*part)(pair *p, tern_worker *worker, bench_zerocopy_way how);
    bench_zerocopy_way how;
    pair pair[PAIRS_MAX];
};

/* The running case, in which handlers count. */
static pairs here;

static tern_status run_by_worker(tern_call_info *call, const void *arguments, size_t bytes) {
    pair *p = &here.pair[tern_worker_self(call->worker).index];
    p->wrong += !bench_zerocopy_arrived(call, arguments, bytes);
    p->run++;
    return TERN_OK;
}
TERN_FUNCTION(run_by_worker)

static void make_calls(pair *p, tern_worker *worker, bench_zerocopy_way how) {
    const pairs *all = p->all;
    tern_worker_id target = {all->group.other.rank, p->index};
    bench_argument argument = {.bytes = all->bytes, .vector = &p->argument, .memory = p->memory};
    bench_zerocopy_call(worker, target, &run_by_worker_function, &argument, how, all->calls);
}

static void take_calls(pair *p, tern_worker *worker) {
    while (p->run < p->all->calls)
        if (tern_progress(worker) == 0 && bench_crowded(&p->all->group))
            sched_yield();
    if (p->wrong > 0)
        bench_fail("an argument did not arrive as it was", TERN_ERR_SYSTEM);
    p->run = 0;
}

static void take_part(pair *p, tern_worker *worker, bench_zerocopy_way how) {
    const pairs *all = p->all;
    if (all->both || all->group.rank == BENCH_ORIGIN)
        make_calls(p, worker, how);
    if (all->both || all->group.rank == BENCH_TARGET)
        take_calls(p, worker);
}

static void copy(pair *p, tern_worker *worker, bench_zerocopy_way how) {
    (void)worker;
    (void)how;
    ceiling_copy(p->memory, p->address, p->all->bytes, p->all->calls);
}

static void *thread_of(void *argument) {
    pair *p = argument;
    tern_worker *worker;
    bench_ok(tern_worker_adopt(p->all->group.context, p->index, &worker), "tern_worker_adopt");
    p->all->part(p, worker, p->all->how);
    bench_ok(tern_worker_release(worker), "tern_worker_release");
    return NULL;
}

/* Runs each pair's part on this side, in a thread for each pair; the calling thread is the
 * first. */
static void all_at_once(pairs *all, void (*part)(pair *, tern_worker *, bench_zerocopy_way),
                        bench_zerocopy_way how, uint64_t n) {
    pthread_t threads[PAIRS_MAX];
    all->part = part;
    all->how = how;
    all->calls = n;
    for (uint32_t i = 1; i < all->count; i++)
        if (pthread_create(&threads[i], NULL, thread_of, &all->pair[i]) != 0)
            bench_fail("pthread_create", TERN_ERR_SYSTEM);
    part(&all->pair[0], all->group.worker, how);
    for (uint32_t i = 1; i < all->count; i++)
        pthread_join(threads[i], NULL);
}

/* Defines both sides of a block of calls. */
#define WAY(name, how)                                                                             \
    static void name(bench *b, void *state, uint64_t n) {                                          \
        (void)b;                                                                                   \
        all_at_once(state, take_part, how, n);                                                     \
    }
WAY(rma_chunks, BENCH_RMA_CHUNK)
WAY(pointer_chunks, BENCH_POINTER_CHUNK)
WAY(copies, BENCH_COPIED)

/* Only the origin's clock counts. With too few cores the origin may be late. */
static void copy_at_origin(bench *b, void *state, uint64_t n) {
    pairs *all = state;
    bench_send(b, &n, sizeof n);
    if (all->both)
        all_at_once(all, copy, BENCH_COPIED, n);
}

static void copy_at_target(bench *b, void *state, uint64_t n) {
    bench_receive(b, &n, sizeof n);
    all_at_once(state, copy, BENCH_COPIED, n);
}

static void open_pair(pairs *all, uint32_t index) {
    bench *own = &all->group;
    pair *p = &all->pair[index];
    *p = (pair){.all = all, .index = index};
    bench_ok(TERN_VECTOR_CREATE(own->worker, unsigned char, all->bytes, &p->argument),
             "tern_vector_create");
    p->memory = aligned_alloc(4096, all->bytes);
    if (p->memory == NULL)
        bench_fail("aligned_alloc", TERN_ERR_MEMORY);
    bench_zerocopy_fill(tern_vector_data(&p->argument), all->bytes);
    bench_zerocopy_fill(p->memory, all->bytes);
    p->address =
        tern_local(own->context, bench_zerocopy_swap(own, tern_vector_place(&p->argument)));
}

static void measure(pairs *all, size_t bytes) {
    bench *own = &all->group;
    bench_case c = {.name = "workers",
                    .params = {{"bytes", bytes, NULL},
                               {"workers", all->count, NULL},
                               {"ways", 0, all->both ? "both ways" : "one way"}},
                    .unit = BENCH_BANDWIDTH,
                    .bytes = bytes * all->count,
                    .measured = bench_way("calls, RMA chunks", rma_chunks, rma_chunks, all)};
    all->bytes = bytes;
    for (uint32_t i = 0; i < all->count; i++)
        open_pair(all, i);
    if (own->shared)
        c.ceiling = bench_way("memcpy by as many threads", copy_at_origin, copy_at_target, all);
    c.peers[c.peer_count++].side =
        bench_way("calls, pointer chunks", pointer_chunks, pointer_chunks, all);
    c.peers[c.peer_count++].side = bench_way("calls, copied", copies, copies, all);
    bench_measure(own, &c);
    bench_meet(own);
    for (uint32_t i = 0; i < all->count; i++) {
        tern_vector_destroy(&all->pair[i].argument);
        free(all->pair[i].memory);
    }
}

void bench_zerocopy_workers(bench *b) {
    if (!bench_selected(b, "workers"))
        return;
    if (!bench_may_thread(b, "workers, which has more threads, is run by name: --only workers"))
        return;
    for (uint32_t count = 1; count <= PAIRS_MAX; count *= 2) {
        tern_config config;
        bench_ok(tern_config_init(&config), "tern_config_init");
        config.workers = count;
        here.count = count;
        bench_group_open(b, &here.group, 2, &config, (int)count);
        bench_unpin(&here.group);
        for (int both = 0; both < 2; both++) {
            here.both = both != 0;
            for (size_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= b->options.quick ? 64 : 16)
                measure(&here, bytes);
        }
        bench_group_close(&here.group);
    }
    bench_pin(b);
}
