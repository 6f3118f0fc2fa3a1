/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Queues (paper 003, figure 4): one on each rank, with room for 100,000 items of 8 bytes. Every
 * rank pushes to, or pops from, a random queue. */

#include "bench_containers.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum {
    ITEMS = CELLS_ELEMENTS,
    MOST = ITEMS / 2, /* of a block, so that no queue is ever full or empty */
    BARE_ITEMS = 1 << 17
};

typedef struct queues {
    tern_queue **queue; /* by host */
    uint64_t random;
    ceiling_queue
        bare[2]; /* one for each of two ranks that share memory; else one of the own rank */
    bool shared;
    tern_ptr place[2];
    char *own;
} queues;

static tern_queue *any_queue(const bench *b, queues *q) {
    return q->queue[ceiling_random(&q->random, (uint64_t)b->ranks)];
}

static void push(bench *b, void *work, tern_promise promise, tern_via via, uint64_t n) {
    queues *q = work;
    for (; n > 0; n--)
        bench_ok(tern_queue_push(b->worker, any_queue(b, q), &n, promise, via), "tern_queue_push");
}

static void pop(bench *b, void *work, tern_promise promise, tern_via via, uint64_t n) {
    queues *q = work;
    for (uint64_t item; n > 0; n--)
        bench_ok(tern_queue_pop(b->worker, any_queue(b, q), &item, promise, via), "tern_queue_pop");
}

/* Each host empties its own queue, in a phase of its own. */
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
    queues *q = work;
    (void)b;
    ceiling_queue_push(q->bare, q->shared ? 2 : 1, &q->random, &n, n);
}

static void bare_pop(bench *b, void *work, uint64_t n) {
    queues *q = work;
    (void)b;
    bench_use(ceiling_queue_pop(q->bare, q->shared ? 2 : 1, &q->random, n));
}

typedef struct row {
    const char *name;
    tern_promise promise;
    tern_model_operation operation;
    double phase_most;
} row;

static const row improved[] = {
    {"push", TERN_PROMISE_READ_WRITE, TERN_MODEL_PUSH, 1.2},
    {"push", TERN_PROMISE_WRITE_ONLY, TERN_MODEL_PUSH, 0},
    {"pop", TERN_PROMISE_READ_WRITE, TERN_MODEL_POP, 0},
    {"pop", TERN_PROMISE_READ_ONLY, TERN_MODEL_POP, 0},
};
static const row classic[] = {
    {"push", TERN_PROMISE_READ_WRITE, TERN_MODEL_CLASSIC_PUSH, 0},
    {"push", TERN_PROMISE_WRITE_ONLY, TERN_MODEL_CLASSIC_PUSH, 0},
    {"pop", TERN_PROMISE_READ_WRITE, TERN_MODEL_CLASSIC_POP, 0},
    {"pop", TERN_PROMISE_READ_ONLY, TERN_MODEL_CLASSIC_POP, 0},
};
/* The phases of the checksum queue are those of the classic one. */
static const row checksum[] = {
    {"push", TERN_PROMISE_READ_WRITE, TERN_MODEL_CHECKSUM_PUSH, 0},
    {"pop", TERN_PROMISE_READ_WRITE, TERN_MODEL_OPERATIONS, 0},
};
static const struct {
    tern_algorithm algorithm;
    const row *rows;
    size_t count;
} kinds[] = {
    {TERN_ALGO_IMPROVED, improved, sizeof improved / sizeof *improved},
    {TERN_ALGO_CLASSIC, classic, sizeof classic / sizeof *classic},
    {TERN_ALGO_CHECKSUM, checksum, sizeof checksum / sizeof *checksum},
};

static void open_queues(bench *b, queues *q, tern_algorithm algorithm) {
    for (int host = 0; host < b->ranks; host++)
        bench_ok(tern_queue_create(b->worker,
                                   &(tern_queue_options){.host = (uint32_t)host,
                                                         .item_bytes = sizeof(uint64_t),
                                                         .capacity = ITEMS,
                                                         .algorithm = algorithm},
                                   &q->queue[host]),
                 "tern_queue_create");
}

static void close_queues(bench *b, queues *q) {
    for (int host = 0; host < b->ranks; host++)
        bench_ok(tern_queue_destroy(b->worker, q->queue[host]), "tern_queue_destroy");
}

static void measure_row(bench *b, const cells *costs, queues *q, tern_algorithm algorithm,
                        const row *r) {
    const bool pops = strcmp(r->name, "pop") == 0, all = r->promise == TERN_PROMISE_READ_WRITE;
    cell one = {.name = r->name,
                .promise = r->promise,
                .algorithm = algorithm,
                .operation = r->operation,
                .own = 1.0 / b->ranks,
                .work = q,
                .run = pops ? pop : push,
                .prepare = pops ? fill : empty,
                .most = MOST,
                .phase = !all   ? TERN_PROMISE_READ_WRITE
                         : pops ? TERN_PROMISE_READ_ONLY
                                : TERN_PROMISE_WRITE_ONLY,
                .phase_most = r->phase_most,
                .ceiling = pops ? "fetch-and-add, load" : "fetch-and-add, store",
                .bare = pops ? bare_pop : bare_push};
    cells_measure(b, costs, &one);
}

static ceiling_queue bare_in(void *memory) {
    char *at = memory;
    return (ceiling_queue){(uint64_t *)(void *)at, (uint64_t *)(void *)(at + 128),
                           (uint64_t *)(void *)(at + 1024), BARE_ITEMS - 1};
}

static void open_bare(bench *b, queues *q) {
    const size_t bytes = 1024 + (size_t)BARE_ITEMS * sizeof(uint64_t);
    q->shared = b->shared && b->ranks == 2;
    for (int owner = 0; owner < 2 && q->shared; owner++) {
        void *memory;
        q->place[owner] = bench_place(b, owner, bytes, &memory);
        q->bare[owner] = bare_in(memory);
    }
    if (q->shared)
        return;
    q->own = calloc(1, bytes);
    if (q->own == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    q->bare[0] = bare_in(q->own);
}

static void close_bare(bench *b, const queues *q) {
    for (int owner = 0; owner < 2 && q->shared; owner++)
        bench_unplace(b, owner, q->place[owner]);
    free(q->own);
}

void containers_queue(bench *b, const cells *costs) {
    queues q = {.queue = calloc((size_t)b->ranks, sizeof *q.queue),
                .random = 3 + (uint64_t)b->rank};
    if (q.queue == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    open_bare(b, &q);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        open_queues(b, &q, kinds[k].algorithm);
        for (size_t i = 0; i < kinds[k].count; i++)
            measure_row(b, costs, &q, kinds[k].algorithm, &kinds[k].rows[i]);
        close_queues(b, &q);
    }
    close_bare(b, &q);
    free(q.queue);
}

static void measure(bench *b) {
    cells costs;
    cells_costs(b, &costs);
    containers_queue(b, &costs);
}

void bench_queue(bench *b) { cells_groups(b, measure); }
