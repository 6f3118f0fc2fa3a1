/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Attentiveness (paper 003, figure 6): every rank computes for a while between two operations, so
 * that calls wait for their target. The time of computing is subtracted. Measured without and with
 * tern's service threads.
 */

#include "cells.h"
#include "ceilings/ceilings.h"

typedef enum kind { PUSH, UPDATE } kind;

enum { KEYS = 4096, WINDOW = 4096, SLOW_US = 16 };

typedef struct attentive {
    tern_queue *queue[2]; /* queues of the first and second rank, or with more ranks of all */
    tern_hashtable *table;
    double compute_ns;
    uint64_t random;
    bool waits; /* at the origin: an operation by RMA waits until its target attends */
} attentive;

static void compute(bench *b, double ns) {
    if (ns <= 0)
        return;
    const double start = bench_now();
    double now;
    do
        now = bench_now();
    while (now < start + ns);
    b->idle += now - start;
}

static void push(bench *b, void *work, tern_flags flags, uint64_t n) {
    attentive *a = work;
    for (; n > 0; n--) {
        compute(b, a->compute_ns);
        tern_queue *queue = a->queue[ceiling_random(&a->random, 2)];
        tern_status status = tern_queue_push(b->worker, queue, &n, flags);
        if (status != TERN_OK)
            bench_fail("tern_queue_push", status);
    }
}

static void update(bench *b, void *work, tern_flags flags, uint64_t n) {
    attentive *a = work;
    for (uint64_t i = 0; i < n; i++) {
        compute(b, a->compute_ns);
        uint64_t key = ceiling_random(&a->random, KEYS);
        bench_ok(tern_hashtable_insert(b->worker, a->table, &key, &i, flags, NULL),
                 "tern_hashtable_insert");
    }
}

static void empty(bench *b, void *work, uint64_t n) {
    attentive *a = work;
    tern_status status = TERN_OK;
    bench_ok(tern_barrier(b->worker), "tern_barrier");
    (void)n;
    for (uint64_t item; b->rank < 2 && status == TERN_OK;)
        status = tern_queue_try_pop(b->worker, a->queue[b->rank], &item, TERN_BY_RMA);
}

/* Atomics on words of a random rank. If it were always the other rank, both ranks would fall into
 * step. */
static void look(bench *b, void *work, uint64_t n) {
    attentive *a = work;
    for (uint64_t count; n > 0; n--) {
        compute(b, a->compute_ns);
        bench_ok(tern_queue_size(b->worker, a->queue[ceiling_random(&a->random, 2)], &count),
                 "tern_queue_size");
    }
    cells_end(b);
}

static double look_ns(bench *b, attentive *a, unsigned us) {
    bench_case c = {.name = "size of a queue",
                    .params = {{"of", 0, "all"}, {"compute_us", us, NULL}}};
    const char *only = b->options.only;
    a->compute_ns = 1e3 * us;
    c.measured = bench_way(c.name, look, look, a);
    b->options.only = NULL;
    const bench_times *t = bench_measure(b, &c);
    b->options.only = only;
    return t == NULL ? 0 : bench_median(t->measured, t->pairs);
}

/* Measures whether an operation by RMA waits for its target. That depends on the network, on MPI
 * and on the service threads, so it is measured like a component. */
static bool does_wait(bench *b, attentive *a) {
    const double quick = look_ns(b, a, 0), slow = look_ns(b, a, SLOW_US);
    return slow - quick > 1e3 * SLOW_US / 4;
}

/* A rank whose operations go by RMA makes no progress during operations on its own part, so other
 * ranks wait for its next operation on another rank's part. With operations by call it makes
 * progress every time. */
static void let_wait(const attentive *a, double own, const cells *costs, cells *waiting) {
    const double ns = a->compute_ns;
    tern_costs calls;
    *waiting = *costs;
    tern_costs_computing(&costs->others, a->waits ? TERN_P2P : TERN_SHM, ns / (1 - own),
                         &waiting->others);
    tern_costs_computing(&costs->others, TERN_SHM, ns, &calls);
    waiting->others.call = calls.call;
}

static const struct {
    const char *name;
    tern_model_operation operation;
    void (*run)(bench *, void *, tern_flags, uint64_t);
} kinds[] = {
    [PUSH] = {"push", TERN_MODEL_PUSH, push}, [UPDATE] = {"update", TERN_MODEL_UPDATE, update}};

static void measure_cell(bench *b, const cells *costs, attentive *a, kind kind,
                         const char *service) {
    uint64_t ns = (uint64_t)a->compute_ns;
    const bool served = strcmp(service, "none") != 0, pushes = kind == PUSH;
    const double own = pushes && b->ranks > 2 ? 0.0 : 1.0 / b->ranks;
    cells waiting;
    let_wait(a, own, costs, &waiting);
    cell one = {.name = kinds[kind].name,
                .params = {{"compute_us", ns / 1000, NULL}, {"service_threads", served, NULL}},
                .promise = TERN_READ_WRITE,
                .operation = kinds[kind].operation,
                .own = own,
                .work = a,
                .run = kinds[kind].run,
                .prepare = pushes ? empty : NULL,
                .most = pushes ? CELLS_ELEMENTS / (uint64_t)b->ranks : 0};
    cells_measure(b, &waiting, &one);
}

static void measure_all(bench *b, const char *service) {
    static const unsigned us[] = {0, 1, 2, 4, 8, 16, 32};
    attentive a = {.random = 9 + (uint64_t)b->rank};
    cells costs;
    cells_costs(b, &costs);
    for (uint32_t host = 0; host < 2; host++)
        bench_ok(tern_queue_create(b->worker,
                                   &(tern_queue_options){.host = host,
                                                         .item_bytes = sizeof(uint64_t),
                                                         .capacity = CELLS_ELEMENTS + WINDOW},
                                   &a.queue[host]),
                 "tern_queue_create");
    bench_ok(tern_hashtable_create(b->worker,
                                   &(tern_hashtable_options){.key_bytes = sizeof(uint64_t),
                                                             .value_bytes = sizeof(uint64_t),
                                                             .capacity = KEYS},
                                   &a.table),
             "tern_hashtable_create");
    a.waits = does_wait(b, &a);
    update(b, &a, TERN_BY_RMA, KEYS);
    for (size_t i = 0; i < sizeof us / sizeof *us; i++) {
        a.compute_ns = 1e3 * us[i];
        measure_cell(b, &costs, &a, PUSH, service);
        measure_cell(b, &costs, &a, UPDATE, service);
    }
    for (uint32_t host = 0; host < 2; host++)
        bench_ok(tern_queue_destroy(b->worker, a.queue[host]), "tern_queue_destroy");
    bench_ok(tern_hashtable_destroy(b->worker, a.table), "tern_hashtable_destroy");
}

static void measure(bench *b) { measure_all(b, "none"); }

void bench_attentive(bench *b) {
    int size;
    cells_groups(b, measure);
    MPI_Comm_size(b->world, &size);
    if (size > 2)
        return;
    if (!bench_may_thread(b, "with service threads it is run by name: tern-bench attentive"))
        return;
    bench own;
    tern_config config;
    bench_ok(tern_config_init(&config), "tern_config_init");
    config.service_threads = 1;
    bench_group_open(b, &own, 2, &config, 2);
    measure_all(&own, "1");
    bench_group_close(&own);
    bench_unpin(b);
    bench_pin(b);
    cells_summary(b);
}
