/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Queues (paper 003, figure 4): one on each rank, with room for 100,000 items of 8 bytes; every
 * rank pushes to, or pops from, a random one. */

#include "bench_containers.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum {
    ITEMS = CELLS_ELEMENTS,
    MOST = ITEMS / 2 /* in a block, so that none is ever full or empty */
};

typedef struct queues {
    tern_queue **queue; /* by host */
    tern_promise promise;
    uint64_t random;
    ceiling_queue bare;
} queues;

static tern_queue *any_queue(const bench *b, queues *q) {
    return q->queue[ceiling_random(&q->random, (uint64_t)b->ranks)];
}

static void push(bench *b, void *work, tern_via via, uint64_t n) {
    queues *q = work;
    for (; n > 0; n--)
        bench_ok(tern_queue_push(b->worker, any_queue(b, q), &n, q->promise, via),
                 "tern_queue_push");
}

static void pop(bench *b, void *work, tern_via via, uint64_t n) {
    queues *q = work;
    for (uint64_t item; n > 0; n--)
        bench_ok(tern_queue_pop(b->worker, any_queue(b, q), &item, q->promise, via),
                 "tern_queue_pop");
}

/* Each host its own queue, in a phase of its own. */
static void empty(bench *b, void *work, uint64_t n) {
    tern_queue *own = ((queues *)work)->queue[b->rank];
    tern_status status = TERN_OK;
    bench_ok(tern_barrier(b->worker), "tern_barrier"); /* ends the phase */
    for (uint64_t item; status == TERN_OK;)
        status = tern_queue_try_pop(b->worker, own, &item, TERN_PROMISE_READ_WRITE, TERN_VIA_RMA);
    (void)n;
    if (status != TERN_ERR_EMPTY)
        bench_fail("tern_queue_try_pop", status);
}

static void fill(bench *b, void *work, uint64_t n) {
    tern_queue *own = ((queues *)work)->queue[b->rank];
    tern_status status = TERN_OK;
    bench_ok(tern_barrier(b->worker), "tern_barrier"); /* ends the phase */
    while (status == TERN_OK)
        status = tern_queue_try_push(b->worker, own, &n, TERN_PROMISE_READ_WRITE, TERN_VIA_RMA);
    if (status != TERN_ERR_FULL)
        bench_fail("tern_queue_try_push", status);
}

static void bare_push(bench *b, void *work, uint64_t n) {
    (void)b;
    ceiling_queue_push(&((queues *)work)->bare, &n, n);
}

static void bare_pop(bench *b, void *work, uint64_t n) {
    (void)b;
    bench_use(ceiling_queue_pop(&((queues *)work)->bare, n));
}

static const struct {
    const char *name;
    tern_promise promise;
    bool pops;
} rows[] = {
    {"push", TERN_PROMISE_READ_WRITE, false},
    {"push", TERN_PROMISE_WRITE_ONLY, false},
    {"pop", TERN_PROMISE_READ_WRITE, true},
    {"pop", TERN_PROMISE_READ_ONLY, true},
};

void containers_queue(bench *b, const cells *costs) {
    const size_t bytes = 1024 + ((size_t)1 << 17) * sizeof(uint64_t);
    queues q = {.queue = calloc((size_t)b->ranks, sizeof *q.queue),
                .random = 3 + (uint64_t)b->rank};
    char *bare = calloc(1, bytes);
    if (q.queue == NULL || bare == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    q.bare = (ceiling_queue){(uint64_t *)(void *)bare, (uint64_t *)(void *)(bare + 128),
                             (uint64_t *)(void *)(bare + 1024), ((uint64_t)1 << 17) - 1};
    for (int host = 0; host < b->ranks; host++)
        bench_ok(tern_queue_create(b->worker,
                                   &(tern_queue_options){.host = (uint32_t)host,
                                                         .item_bytes = sizeof(uint64_t),
                                                         .capacity = ITEMS},
                                   &q.queue[host]),
                 "tern_queue_create");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        q.promise = rows[i].promise;
        cell one = {.name = rows[i].name,
                    .promise = rows[i].promise,
                    .operation = rows[i].pops ? TERN_MODEL_POP : TERN_MODEL_PUSH,
                    .own = 1.0 / b->ranks,

                    .work = &q,
                    .run = rows[i].pops ? pop : push,
                    .prepare = rows[i].pops ? fill : empty,
                    .most = MOST,
                    .ceiling = rows[i].pops ? "private fetch-and-add, load"
                                            : "private fetch-and-add, store",
                    .bare = rows[i].pops ? bare_pop : bare_push};
        cells_measure(b, costs, &one);
    }
    for (int host = 0; host < b->ranks; host++)
        bench_ok(tern_queue_destroy(b->worker, q.queue[host]), "tern_queue_destroy");
    free(bare);
    free(q.queue);
}

static void measure(bench *b) {
    cells costs;
    cells_costs(b, &costs);
    containers_queue(b, &costs);
}

void bench_queue(bench *b) { cells_groups(b, measure); }
