/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cells. A cell is an operation of a container by RMA, by call and by TERN_AUTO, in alternating
 * blocks, or of a baseline by RMA and by call, together with the cost model's prediction for the
 * first two from component costs of the same run. All ranks operate at the same time. Each leaves a
 * block when all have finished, and serves the others meanwhile. The figure is the time of one
 * operation of one rank.
 */

#ifndef TERN_BENCHMARKS_CELLS_H
#define TERN_BENCHMARKS_CELLS_H

#include "advice.h"
#include "bench.h"

enum { CELLS_ELEMENTS = 100000 /* of each rank, as in the paper */, CELLS_VALUE_MAX = 4096 };

/* The costs of the components, at the origin. */
typedef struct cells {
    tern_costs own, others; /* towards the own rank and, on average, the other ranks */
    double progress;        /* a round of progress, which every call to the own rank makes */
    double row;             /* others.get of several small buckets at once */
    double result;          /* cells_costs_of: others.call of a call that returns a value */
    advice_figure widest;   /* cells_costs: what was measured for them with the largest spread */
} cells;

/* components.c: measures the costs and the bare units, whatever --only says. */
void cells_costs(bench *b, cells *costs);
/* The same with gets, puts and calls of so many bytes. */
void cells_costs_of(bench *b, const cells *costs, size_t bytes, cells *larger);
/* The paper's figure 3: towards all ranks, including the own one. */
void cells_figure(bench *b);

typedef struct cell {
    const char *name;
    bench_param params[BENCH_PARAMS - 1]; /* one is left for the promise */
    tern_flags promise;
    tern_model_operation operation; /* TERN_MODEL_OPERATIONS: the model does not know it */
    /* The name of one of the paper's own algorithms (baselines/), and what its model says of it, or
     * NULL. No choice is made for it, so it has no TERN_AUTO. NULL: tern's own. */
    const char *baseline;
    double (*baseline_ns)(tern_flags promise, const tern_costs *costs);
    double own;     /* share of operations on the rank's own part */
    bool rma_alone; /* too large for a call */
    void *work;
    void (*run)(bench *b, void *work, tern_flags flags, uint64_t n);
    void (*prepare)(bench *b, void *work, uint64_t n);
    uint64_t most;
    unsigned lasts; /* how many times as long as others a block is; 0: as long */
    /* Buckets of other keys that an operation passes, on average, in a block of n; NULL: none.
     * remote: load/store does not reach the buckets, and only those count that cost a get or an
     * atomic of their own. */
    double (*passed)(const bench *b, const void *work, bool remote, uint64_t n);
    tern_flags phase;    /* the promise of a peer; READ_WRITE: no such peer */
    double phase_most;   /* target over shm: the cell takes at most so many times as long as that
                            peer; 0: none */
    const char *ceiling; /* name of the ceiling, or NULL */
    void (*bare)(bench *b, void *work, uint64_t n);
    void (*bare_prepare)(bench *b, void *work, uint64_t n);
} cell;

void cells_measure(bench *b, const cells *costs, const cell *one);

/* Waits until every rank is here, with progress. */
void cells_end(bench *b);

/* Prints how often the model and TERN_AUTO were right so far. */
void cells_summary(bench *b);

/* Runs measure among two ranks or, if there are more, in groups of growing size. */
void cells_groups(bench *b, void (*measure)(bench *own));

/* Draws count numbers below keys by Zipf's law with that exponent; 0: evenly. */
void cells_draw(const bench *b, uint32_t *numbers, size_t count, uint32_t keys, double exponent);

/* For output.c: the lines of a case that is a cell. */
typedef struct bench_model {
    const cells *costs;
    const cell *cell;
} bench_model;

void cells_table(FILE *to, const bench *b, const bench_case *c, const bench_times *times);
void cells_json(FILE *to, const bench *b, const bench_case *c, const bench_times *times);

/* bench_queue.c, bench_hash.c: the rows under each promise, which several subjects show. */
void containers_queue(bench *b, const cells *costs);
void containers_hash(bench *b, const cells *costs);

#endif
