/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Queues (paper 003, figure 4): one on each rank, with room for 100,000 items of 8 bytes. Every
 * rank pushes to, or pops from, a random queue. */

#include "baselines/baselines.h"
#include "baselines/queue.h"
#include "cells.h"
#include "ceilings/ceilings.h"

#include <stdlib.h>

enum {
    ITEMS = CELLS_ELEMENTS,
    MOST = ITEMS / 2, /* of a block, so that no queue is ever full or empty */
    BARE_ITEMS = 1 << 17
};

typedef struct queues {
    tern_queue **queue; /* by host */
    baseline_queue **baseline;
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

static void push(bench *b, void *work, tern_flags flags, uint64_t n) {
    queues *q = work;
    for (; n > 0; n--)
        bench_ok(tern_queue_push(b->worker, any_queue(b, q), &n, flags), "tern_queue_push");
}

static void pop(bench *b, void *work, tern_flags flags, uint64_t n) {
    queues *q = work;
    for (uint64_t item; n > 0; n--)
        bench_ok(tern_queue_pop(b->worker, any_queue(b, q), &item, flags), "tern_queue_pop");
}

/* Each host empties its own queue, in a phase of its own. */
static void empty(bench *b, void *work, uint64_t n) {
    tern_queue *own = ((queues *)work)->queue[b->rank];
    tern_status status = TERN_OK;
    bench_ok(tern_barrier(b->worker), "tern_barrier"); /* ends the phase */
    for (uint64_t item; status == TERN_OK;)
        status = tern_queue_try_pop(b->worker, own, &item, TERN_BY_RMA);
    (void)n;
    if (status != TERN_ERR_EMPTY)
        bench_fail("tern_queue_try_pop", status);
}

static void fill(bench *b, void *work, uint64_t n) {
    tern_queue *own = ((queues *)work)->queue[b->rank];
    tern_status status = TERN_OK;
    bench_ok(tern_barrier(b->worker), "tern_barrier"); /* ends the phase */
    while (status == TERN_OK)
        status = tern_queue_try_push(b->worker, own, &n, TERN_BY_RMA);
    if (status != TERN_ERR_FULL)
        bench_fail("tern_queue_try_push", status);
}

/* The paper's queues. */

static baseline_queue *any_baseline(const bench *b, queues *q) {
    return q->baseline[ceiling_random(&q->random, (uint64_t)b->ranks)];
}

static void baseline_push(bench *b, void *work, tern_flags flags, uint64_t n) {
    queues *q = work;
    for (; n > 0; n--)
        bench_ok(baseline_queue_push(b->worker, any_baseline(b, q), &n, flags),
                 "baseline_queue_push");
}

static void baseline_pop(bench *b, void *work, tern_flags flags, uint64_t n) {
    queues *q = work;
    for (uint64_t item; n > 0; n--)
        bench_ok(baseline_queue_pop(b->worker, any_baseline(b, q), &item, flags),
                 "baseline_queue_pop");
}

static void baseline_end_phase(bench *b, baseline_queue *own) {
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    bench_ok(baseline_queue_settle(b->worker, own), "baseline_queue_settle");
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static void baseline_empty(bench *b, void *work, uint64_t n) {
    baseline_queue *own = ((queues *)work)->baseline[b->rank];
    tern_status status = TERN_OK;
    baseline_end_phase(b, own);
    for (uint64_t item; status == TERN_OK;)
        status = baseline_queue_pop(b->worker, own, &item, TERN_READ_ONLY | TERN_BY_RMA);
    (void)n;
    if (status != TERN_ERR_EMPTY)
        bench_fail("baseline_queue_pop", status);
    baseline_end_phase(b, own);
}

static void baseline_fill(bench *b, void *work, uint64_t n) {
    baseline_queue *own = ((queues *)work)->baseline[b->rank];
    tern_status status = TERN_OK;
    baseline_end_phase(b, own);
    while (status == TERN_OK)
        status = baseline_queue_push(b->worker, own, &n, TERN_WRITE_ONLY | TERN_BY_RMA);
    if (status != TERN_ERR_FULL)
        bench_fail("baseline_queue_push", status);
    baseline_end_phase(b, own);
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
    tern_flags promise;
    tern_model_operation operation;
    double phase_most;
    double (*baseline_ns)(tern_flags, const tern_costs *);
} row;

static const row improved[] = {
    {"push", TERN_READ_WRITE, TERN_MODEL_PUSH, 1.2, NULL},
    {"push", TERN_WRITE_ONLY, TERN_MODEL_PUSH, 0, NULL},
    {"pop", TERN_READ_WRITE, TERN_MODEL_POP, 0, NULL},
    {"pop", TERN_READ_ONLY, TERN_MODEL_POP, 0, NULL},
};
static const row classic[] = {
    {"push", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, 0, baseline_circular_push_ns},
    {"push", TERN_WRITE_ONLY, TERN_MODEL_OPERATIONS, 0, baseline_circular_push_ns},
    {"pop", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, 0, baseline_circular_pop_ns},
    {"pop", TERN_READ_ONLY, TERN_MODEL_OPERATIONS, 0, baseline_circular_pop_ns},
};
/* The phases of the checksum queue are those of the classic one. The paper has no cost of its pop.
 */
static const row checksum[] = {
    {"push", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, 0, baseline_checksum_push_ns},
    {"pop", TERN_READ_WRITE, TERN_MODEL_OPERATIONS, 0, NULL},
};
static const struct kind {
    const char *baseline; /* NULL: tern's queue */
    baseline_queue_kind kind;
    const row *rows;
    size_t count;
} kinds[] = {
    {NULL, BASELINE_CIRCULAR, improved, sizeof improved / sizeof *improved},
    {"classic", BASELINE_CIRCULAR, classic, sizeof classic / sizeof *classic},
    {"checksum", BASELINE_CHECKSUM, checksum, sizeof checksum / sizeof *checksum},
};

static void open_queues(bench *b, queues *q, const struct kind *kind) {
    for (uint32_t host = 0; host < (uint32_t)b->ranks; host++)
        if (kind->baseline != NULL)
            bench_ok(baseline_queue_create(b->worker, b->comm, kind->kind, host, sizeof(uint64_t),
                                           ITEMS, &q->baseline[host]),
                     "baseline_queue_create");
        else
            bench_ok(tern_queue_create(b->worker,
                                       &(tern_queue_options){.host = host,
                                                             .item_bytes = sizeof(uint64_t),
                                                             .capacity = ITEMS},
                                       &q->queue[host]),
                     "tern_queue_create");
}

static void close_queues(bench *b, const queues *q, const struct kind *kind) {
    for (int host = 0; host < b->ranks; host++)
        if (kind->baseline != NULL)
            bench_ok(baseline_queue_destroy(b->worker, q->baseline[host]),
                     "baseline_queue_destroy");
        else
            bench_ok(tern_queue_destroy(b->worker, q->queue[host]), "tern_queue_destroy");
}

static void measure_row(bench *b, const cells *costs, queues *q, const struct kind *kind,
                        const row *r) {
    const bool pops = strcmp(r->name, "pop") == 0, all = r->promise == TERN_READ_WRITE,
               own = kind->baseline == NULL;
    cell one = {.name = r->name,
                .promise = r->promise,
                .operation = r->operation,
                .baseline = kind->baseline,
                .baseline_ns = r->baseline_ns,
                .own = 1.0 / b->ranks,
                .work = q,
                .run = own ? (pops ? pop : push) : (pops ? baseline_pop : baseline_push),
                .prepare = own ? (pops ? fill : empty) : (pops ? baseline_fill : baseline_empty),
                .most = MOST,
                .phase = !all   ? TERN_READ_WRITE
                         : pops ? TERN_READ_ONLY
                                : TERN_WRITE_ONLY,
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
                .baseline = calloc((size_t)b->ranks, sizeof *q.baseline),
                .random = 3 + (uint64_t)b->rank};
    if (q.queue == NULL || q.baseline == NULL)
        bench_fail("calloc", TERN_ERR_MEMORY);
    open_bare(b, &q);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        open_queues(b, &q, &kinds[k]);
        for (size_t i = 0; i < kinds[k].count; i++)
            measure_row(b, costs, &q, &kinds[k], &kinds[k].rows[i]);
        close_queues(b, &q, &kinds[k]);
    }
    close_bare(b, &q);
    free(q.queue);
    free(q.baseline);
}

static void measure(bench *b) {
    cells costs;
    cells_costs(b, &costs);
    containers_queue(b, &costs);
}

void bench_queue(bench *b) { cells_groups(b, measure); }
