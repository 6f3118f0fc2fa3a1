/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "cells.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

/* Peers of a cell, as far as it has them; the phase follows. A baseline has no auto. */
enum { BY_AUTO, BY_CALL };

enum { CELLS_MOST = 4096 };

/* Sums over all cells of the program, at the origin. Apart: the cells whose path is forced, by size
 * or because TERN_AUTO always takes RMA over shared memory. */
static struct {
    unsigned all, differ, right, rma, call, autos;
    double times[CELLS_MOST], worst,
        spread; /* of auto over the better path; spread: of the worst cell */
} count[2];

/* A measured path of a cell: RMA is the case's own side, call and auto are its peers. */
typedef struct measured_path {
    const cell *cell;
    tern_flags flags;
} measured_path;

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

static void run_path(bench *b, void *state, uint64_t n) {
    const measured_path *w = state;
    w->cell->run(b, w->cell->work, w->flags, n);
    cells_end(b);
}

static void run_bare(bench *b, void *state, uint64_t n) {
    const measured_path *w = state;
    w->cell->bare(b, w->cell->work, n);
    cells_end(b);
}

static void prepare_path(bench *b, void *state, uint64_t n) {
    const measured_path *w = state;
    if (w->cell->prepare != NULL)
        w->cell->prepare(b, w->cell->work, n);
    bench_ok(tern_barrier(b->worker), "tern_barrier"); /* ends a phase */
}

static void prepare_bare(bench *b, void *state, uint64_t n) {
    const measured_path *w = state;
    if (w->cell->bare_prepare != NULL)
        w->cell->bare_prepare(b, w->cell->work, n);
    bench_ok(tern_barrier(b->worker), "tern_barrier");
}

static bench_side side_of(const char *name, measured_path *w) {
    bench_side side = bench_way(name, run_path, run_path, w);
    side.prepare = prepare_path;
    side.most = w->cell->most;
    return side;
}

static double predict_baseline(const bench_model *m, tern_flags path, const tern_costs *own,
                               const tern_costs *others) {
    const cell *one = m->cell;
    const double here = one->baseline_ns(one->promise, own);
    return path == TERN_BY_RMA
               ? one->own * here + (1 - one->own) * one->baseline_ns(one->promise, others)
               : one->own * (here + m->costs->progress) + (1 - one->own) * (others->call + here);
}

/* An operation by call on the caller's own part is done in place, with a round of progress. */
static double predict_operation(const bench_model *m, tern_model_operation operation,
                                tern_flags path, const tern_costs *own, const tern_costs *others) {
    const cell *one = m->cell;
    const char *what = "tern_model_predict";
    double ns[2];
    bench_ok(tern_model_predict(operation, one->promise | TERN_BY_RMA, own, own, &ns[0]), what);
    bench_ok(tern_model_predict(operation, one->promise | path, others, own, &ns[1]), what);
    if (path == TERN_BY_CALL)
        ns[0] += m->costs->progress;
    return one->own * ns[0] + (1 - one->own) * ns[1];
}

/* Returns 0 if the time is not known. */
static double predict(const bench *b, const bench_model *m, tern_flags path, uint64_t n) {
    const cell *one = m->cell;
    tern_costs own = m->costs->own, others = m->costs->others;
    const bool known =
        one->baseline != NULL ? one->baseline_ns != NULL : one->operation != TERN_MODEL_OPERATIONS;
    if (!known || m->costs->progress == 0 || (path == TERN_BY_CALL && one->rma_alone))
        return 0;
    if (one->passed != NULL) {
        own.passed = one->passed(b, one->work, false, n);
        others.passed = b->shared ? own.passed : one->passed(b, one->work, true, n);
    }
    return one->baseline != NULL ? predict_baseline(m, path, &own, &others)
                                 : predict_operation(m, one->operation, path, &own, &others);
}

static const char *promise_name(tern_flags promise) {
    return promise == TERN_WRITE_ONLY  ? "write_only"
           : promise == TERN_READ_ONLY ? "read_only"
                                       : "read_write";
}

void cells_measure(bench *b, const cells *costs, const cell *one) {
    measured_path by_rma = {one, one->promise | TERN_BY_RMA},
                  by_call = {one, one->promise | TERN_BY_CALL}, by_auto = {one, one->promise},
                  phase = {one, one->phase | TERN_BY_RMA};
    bench_model model = {costs, one};
    bench_case c = {.name = one->name,
                    .algorithm = one->baseline != NULL ? one->baseline : "improved",
                    .model = &model,
                    .least = b->options.operations,
                    .lasts = one->lasts};
    c.params[0] = (bench_param){"promise", 0, promise_name(one->promise)};
    for (size_t i = 1; i < BENCH_PARAMS; i++)
        c.params[i] = one->params[i - 1];
    c.measured = side_of("by RMA", &by_rma);
    if (one->ceiling != NULL) {
        c.ceiling = side_of(one->ceiling, &by_rma);
        c.ceiling.origin = c.ceiling.target = run_bare;
        c.ceiling.prepare = prepare_bare;
    }
    if (one->baseline == NULL)
        c.peers[c.peer_count++].side = side_of("by auto", &by_auto);
    if (!one->rma_alone)
        c.peers[c.peer_count++].side = side_of("by call", &by_call);
    if (one->phase != TERN_READ_WRITE) {
        bench_peer *peer = &c.peers[c.peer_count++];
        peer->side = side_of(promise_name(one->phase), &phase);
        if (b->shared && b->ranks == 2 && one->phase_most > 0)
            peer->at_least = 1 / one->phase_most;
    }
    bench_measure(b, &c);
}

/* The result of a cell. */
typedef struct verdict {
    bool differ, rma_faster, rma_chosen;
    double rma, call;     /* predicted, in ns; 0: no prediction */
    double autos, spread; /* auto's time over the better path's, by pairs of blocks; 0: none */
} verdict;

/* The ratios of the pairs in which both were measured. */
static size_t ratios(const double *above, const double *below, size_t pairs, double *to) {
    size_t n = 0;
    for (size_t i = 0; i < pairs; i++)
        if (above[i] > 0 && below[i] > 0)
            to[n++] = above[i] / below[i];
    return n;
}

static verdict judge(const bench *b, const bench_model *model, const bench_times *t) {
    double times[BENCH_PAIRS_MAX];
    verdict v = {.rma_faster = true,
                 .rma = predict(b, model, TERN_BY_RMA, t->operations),
                 .call = predict(b, model, TERN_BY_CALL, t->operations)};
    v.rma_chosen = v.rma <= v.call;
    size_t n;
    const double *by_call = t->peer[model->cell->baseline != NULL ? BY_CALL - 1 : BY_CALL];
    if (!model->cell->rma_alone) {
        n = ratios(by_call, t->measured, t->pairs, times);
        double calls = bench_median(times, n);
        v.rma_faster = calls > 1;
        v.differ = fabs(calls - 1) > bench_spread(times, n);
    }
    if (model->cell->baseline != NULL)
        return v;
    const double *better = v.rma_faster ? t->measured : by_call;
    n = ratios(t->peer[BY_AUTO], better, t->pairs, times);
    v.autos = bench_median(times, n);
    v.spread = bench_spread(times, n);
    return v;
}

static void count_in(const verdict *v, bool forced) {
    __typeof__(*count) *c = &count[forced];
    if (v->autos > 0 && c->autos < CELLS_MOST)
        c->times[c->autos++] = v->autos;
    if (v->autos > c->worst) {
        c->worst = v->autos;
        c->spread = v->spread;
    }
    if (v->call == 0)
        return;
    c->all++;
    c->differ += v->differ;
    c->right += v->differ && v->rma_chosen == v->rma_faster;
    c->rma += v->differ && v->rma_faster;
    c->call += v->differ && !v->rma_faster;
}

void cells_table(FILE *to, const bench *b, const bench_case *c, const bench_times *times) {
    verdict v = judge(b, c->model, times);
    if (v.autos > 0)
        fprintf(to, "  %-34s auto %.2f +-%.2f times the better", "", v.autos, v.spread / 2);
    else
        fprintf(to, "  %-34s no auto", "");
    if (v.rma > 0)
        fprintf(to, "; model: %.0f ns by RMA", v.rma);
    if (v.call > 0)
        fprintf(to, ", %.0f ns by call: takes %s, %s", v.call, v.rma_chosen ? "RMA" : "call",
                !v.differ                      ? "they do not differ"
                : v.rma_chosen == v.rma_faster ? "right"
                                               : "WRONG");
    fputc('\n', to);
    count_in(&v, b->shared || c->model->cell->rma_alone);
}

void cells_json(FILE *to, const bench *b, const bench_case *c, const bench_times *times) {
    const cell *one = c->model->cell;
    const verdict v = judge(b, c->model, times);
    if (one->passed != NULL)
        fprintf(to, ",\"looks\":%.4g",
                1 + one->passed(b, one->work, !b->shared, times->operations));
    if (v.autos > 0)
        fprintf(to, ",\"auto\":%.5g,\"auto_spread\":%.4g", v.autos, v.spread);
    if (!one->rma_alone)
        fprintf(to, ",\"faster\":\"%s\",\"differ\":%s", v.rma_faster ? "rma" : "call",
                v.differ ? "true" : "false");
    if (v.call > 0)
        fprintf(to,
                ",\"model\":{\"rma\":%.6g,\"call\":%.6g,\"unit\":\"ns\",\"choice\":\"%s\","
                "\"right\":%s}",
                v.rma, v.call, v.rma_chosen ? "rma" : "call",
                v.rma_chosen == v.rma_faster ? "true" : "false");
    else if (v.rma > 0)
        fprintf(to, ",\"model\":{\"rma\":%.6g,\"unit\":\"ns\"}", v.rma);
}

void cells_summary(bench *b) {
    static const char *const names[] = {"free to take either path", "whose path is forced"};
    for (int forced = 0; forced < 2 && b->table != NULL; forced++) {
        __typeof__(*count) *c = &count[forced];
        if (c->autos == 0)
            continue;
        bench_note(
            b,
            "%u cells %s, %u in which the paths differ by more than the spread: the model is "
            "right in %u; RMA is faster in %u, calls in %u",
            c->all, names[forced], c->differ, c->right, c->rma, c->call);
        bench_note(b,
                   "auto takes %.2f times as long as the better path in the median of %u cells, "
                   "%.2f +-%.2f times in the worst",
                   bench_median(c->times, c->autos), c->autos, c->worst, c->spread / 2);
    }
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

void cells_draw(const bench *b, uint32_t *numbers, size_t many, uint32_t keys, double exponent) {
    double *upto = malloc(keys * sizeof *upto), sum = 0;
    uint64_t random = 7 + (uint64_t)b->rank;
    if (upto == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    for (uint32_t k = 0; k < keys; k++)
        upto[k] = sum += pow((double)(k + 1), -exponent);
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
