/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "cells.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

enum { BY_AUTO, BY_CALL }; /* peers of a cell, the second if there are calls */

/* Over all cells of the program, at the origin. */
static struct { unsigned all, differ, right, rma, call, autos, within; } count;

/* A cell's measured sides: RMA is the case's own, call and auto are its peers. */
typedef struct way {
    const cell *cell;
    tern_via via;
} way;

void cells_end(bench *b) {
    MPI_Request request;
    tern_mpi_lock();
    bench_mpi(MPI_Ibarrier(b->comm, &request), "MPI_Ibarrier");
    tern_mpi_unlock();
    for (int done = 0; !done;) {
        (void)tern_progress(b->worker);
        tern_mpi_lock();
        bench_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        tern_mpi_unlock();
        if (bench_crowded(b))
            sched_yield();
    }
}

static void run_way(bench *b, void *state, uint64_t n) {
    const way *w = state;
    w->cell->run(b, w->cell->work, w->via, n);
    cells_end(b);
}

static void run_bare(bench *b, void *state, uint64_t n) {
    const way *w = state;
    w->cell->bare(b, w->cell->work, n);
    cells_end(b);
}

static void prepare_way(bench *b, void *state, uint64_t n) {
    const way *w = state;
    if (w->cell->prepare != NULL)
        w->cell->prepare(b, w->cell->work, n);
    bench_ok(tern_barrier(b->worker), "tern_barrier"); /* ends a phase */
}

static void prepare_bare(bench *b, void *state, uint64_t n) {
    const way *w = state;
    if (w->cell->bare_prepare != NULL)
        w->cell->bare_prepare(b, w->cell->work, n);
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static bench_side side_of(const char *name, way *w) {
    bench_side side = bench_way(name, run_way, run_way, w);
    side.prepare = prepare_way;
    side.most = w->cell->most;
    return side;
}

static double predict(const cells *costs, const cell *one, tern_via via) {
    double own, other;
    if (one->operation == TERN_MODEL_OPERATIONS)
        return 0;
    /* What is the caller's own is done in place whatever the way. */
    bench_ok(tern_model_predict(one->operation, one->promise, TERN_VIA_RMA, &costs->own,
                                &costs->own, &own),
             "tern_model_predict");
    bench_ok(
        tern_model_predict(one->operation, one->promise, via, &costs->others, &costs->own, &other),
        "tern_model_predict");
    return one->own * own + (1 - one->own) * other;
}

void cells_measure(bench *b, const cells *costs, const cell *one) {
    static const char *const promises[] = {[TERN_PROMISE_READ_WRITE] = "read_write",
                                           [TERN_PROMISE_WRITE_ONLY] = "write_only",
                                           [TERN_PROMISE_READ_ONLY] = "read_only"};
    way ways[] = {{one, TERN_VIA_RMA}, {one, TERN_VIA_CALL}, {one, TERN_VIA_AUTO}};
    bench_model model = {predict(costs, one, TERN_VIA_RMA), predict(costs, one, TERN_VIA_CALL),
                         !one->rma_alone, costs->fetch_add, costs->missing_load};
    bench_case c = {.name = one->name, .model = &model};
    c.params[0] = (bench_param){"promise", 0, promises[one->promise]};
    for (size_t i = 1; i < BENCH_PARAMS; i++)
        c.params[i] = one->params[i - 1];
    c.measured = side_of("by RMA", &ways[TERN_VIA_RMA]);
    if (one->ceiling != NULL) {
        c.ceiling = side_of(one->ceiling, &ways[TERN_VIA_RMA]);
        c.ceiling.origin = c.ceiling.target = run_bare;
        c.ceiling.prepare = prepare_bare;
    }
    c.peers[c.peer_count++].side = side_of("by auto", &ways[TERN_VIA_AUTO]);
    if (!one->rma_alone)
        c.peers[c.peer_count++].side = side_of("by call", &ways[TERN_VIA_CALL]);
    bench_measure(b, &c);
}

/* What a cell has come to. */
typedef struct verdict {
    bool differ, rma_faster, rma_chosen;
    double autos, spread; /* auto's time over that of the better one, by pairs of blocks */
} verdict;

/* The ratios of those pairs in which both were measured. */
static size_t ratios(const double *above, const double *below, size_t pairs, double *to) {
    size_t n = 0;
    for (size_t i = 0; i < pairs; i++)
        if (above[i] > 0 && below[i] > 0)
            to[n++] = above[i] / below[i];
    return n;
}

static verdict judge(const bench_model *model, const bench_times *t) {
    double times[BENCH_PAIRS_MAX];
    verdict v = {.rma_faster = true, .rma_chosen = model->rma <= model->call};
    size_t n;
    if (model->has_call) {
        n = ratios(t->peer[BY_CALL], t->measured, t->pairs, times);
        double calls = bench_median(times, n);
        v.rma_faster = calls > 1;
        v.differ = fabs(calls - 1) > bench_spread(times, n);
    }
    const double *better = v.rma_faster ? t->measured : t->peer[BY_CALL];
    n = ratios(t->peer[BY_AUTO], better, t->pairs, times);
    v.autos = bench_median(times, n);
    v.spread = bench_spread(times, n);
    return v;
}

static void count_in(const bench_model *m, const verdict *v) {
    count.autos++;
    count.within += v->autos - v->spread / 2 <= 1.1; /* the half that is shown */
    if (!m->has_call || m->rma == 0)
        return;
    count.all++;
    count.differ += v->differ;
    count.right += v->differ && v->rma_chosen == v->rma_faster;
    count.rma += v->differ && v->rma_faster;
    count.call += v->differ && !v->rma_faster;
}

void cells_table(FILE *to, const bench_case *c, const bench_times *times) {
    const bench_model *m = c->model;
    verdict v = judge(m, times);
    fprintf(to, "  %-34s auto %.2f +-%.2f times the better", "", v.autos, v.spread / 2);
    if (m->rma > 0)
        fprintf(to, "; model: %.0f ns by RMA", m->rma);
    if (m->rma > 0 && m->has_call)
        fprintf(to, ", %.0f ns by call: takes %s, %s", m->call, v.rma_chosen ? "RMA" : "call",
                !v.differ                      ? "they do not differ"
                : v.rma_chosen == v.rma_faster ? "right"
                                               : "WRONG");
    fputc('\n', to);
    count_in(m, &v);
}

void cells_json(FILE *to, const bench_case *c, const bench_times *times) {
    const bench_model *m = c->model;
    const verdict v = judge(m, times);
    const double median = bench_median(times->measured, times->pairs);
    fprintf(to, ",\"auto\":%.5g,\"auto_spread\":%.4g", v.autos, v.spread);
    fprintf(to, ",\"units\":{\"fetch_add\":%.4g,\"missing_load\":%.4g}", median / m->fetch_add,
            median / m->missing_load);
    if (m->has_call)
        fprintf(to, ",\"faster\":\"%s\",\"differ\":%s", v.rma_faster ? "rma" : "call",
                v.differ ? "true" : "false");
    if (m->rma > 0 && m->has_call)
        fprintf(to,
                ",\"model\":{\"rma\":%.6g,\"call\":%.6g,\"unit\":\"ns\",\"choice\":\"%s\","
                "\"right\":%s}",
                m->rma, m->call, v.rma_chosen ? "rma" : "call",
                v.rma_chosen == v.rma_faster ? "true" : "false");
    else if (m->rma > 0)
        fprintf(to, ",\"model\":{\"rma\":%.6g,\"unit\":\"ns\"}", m->rma);
}

void cells_summary(bench *b) {
    if (b->table == NULL || count.all == 0)
        return;
    bench_note(b,
               "%u cells, %u in which the ways differ by more than the spread: the model is right "
               "in %u; RMA is faster in %u, calls in %u. auto within 1.1 of the better in %u of %u",
               count.all, count.differ, count.right, count.rma, count.call, count.within,
               count.autos);
}

void cells_groups(bench *b, void (*measure)(bench *own)) {
    int size;
    MPI_Comm_size(b->world, &size);
    if (size > 2)
        bench_group_each(b, measure);
    else
        measure(b);
    cells_summary(b);
}

void cells_draw(const bench *b, uint32_t *numbers, size_t many, uint32_t keys, bool zipf) {
    double *upto = malloc(keys * sizeof *upto), sum = 0;
    uint64_t random = 7 + (uint64_t)b->rank;
    if (upto == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    for (uint32_t k = 0; k < keys; k++)
        upto[k] = sum += zipf ? 1.0 / (double)(k + 1) : 1.0;
    for (size_t i = 0; i < many; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double at = (double)(random >> 34) / (double)(1u << 30) * sum;
        uint32_t low = 0, high = keys - 1;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (upto[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        numbers[i] = (uint32_t)(low * UINT64_C(2654435761) % keys);
    }
    free(upto);
}
