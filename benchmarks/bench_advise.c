/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What to use between these two ranks, from what this run measures: for each task the faster of two
 * ways, with both times. Operations of containers are computed by the cost model from the measured
 * components (tern/model.h); everything else is measured itself.
 */

#include "cells.h"
#include "notified.h"

#include <math.h>
#include <stdlib.h>

enum { WORD = 8, KEYS = 1 << 16, BATCH = 1024 };

/* Ways that differ by less are called equal. */
#define EQUAL 1.15

/* For a task either of two ways serves; origin only. reason: more on the same line, or "". */
static void advise(bench *b, const char *task, const char *names[2], const double ns[2],
                   const char *reason) {
    const int best = ns[1] < ns[0];
    const double times = ns[!best] / ns[best];
    char fast[24], slow[24], how[48] = "either: they take about as long";
    if (b->rank != BENCH_ORIGIN)
        return;
    bench_time_text(fast, sizeof fast, ns[best]);
    bench_time_text(slow, sizeof slow, ns[!best]);
    if (times >= EQUAL)
        snprintf(how, sizeof how, "%.1f times as fast", times);
    fprintf(b->table, "  %-38s %-26s %8s   %-26s %8s   %s%s\n", task, names[best], fast,
            names[!best], slow, how, reason);
    fflush(b->table);
    if (b->json != NULL)
        fprintf(b->json,
                "{\"advice\":\"%s\",\"transport\":\"%s\",\"use\":\"%s\",\"ns\":%.6g,\"instead_of\":"
                "\"%s\",\"instead_ns\":%.6g}\n",
                task, tern_transport_name(b->transport), names[best], ns[best], names[!best],
                ns[!best]);
}

/* Measures a case whose one peer is the other way. */
static void measure_both(bench *b, const bench_case *c, const char *task, double times) {
    FILE *table = b->table;
    b->table = NULL; /* the advice says it */
    const bench_times *t = bench_measure(b, c);
    b->table = table;
    if (t == NULL)
        return;
    double peer[BENCH_PAIRS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < t->pairs; i++)
        if (t->peer[0][i] > 0)
            peer[count++] = t->peer[0][i];
    advise(b, task, (const char *[]){c->measured.name, c->peers[0].side.name},
           (const double[]){bench_median(t->measured, t->pairs) * times,
                            bench_median(peer, count) * times},
           "");
}

/* Data that the other rank is told of: half of a round trip. */
static void transfers(bench *b) {
    static const struct {
        size_t bytes;
        const char *task;
    } sizes[] = {{WORD, "data with completion, 8 B"},
                 {4 << 10, "data with completion, 4 KiB"},
                 {1 << 20, "data with completion, 1 MiB"}};
    notified s;
    bench_window none = {.bytes = 0};
    notified_open(b, &s, b->worker, &none);
    s.cid_bytes = WORD;
    s.messages.how = CEILING_RECEIVE_BLOCKING;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bench_case c = {.name = "data", .params = {{"bytes", sizes[i].bytes, NULL}}};
        s.bytes = sizes[i].bytes;
        c.measured = bench_way("tern_put_notify", notified_ask, notified_answer, &s);
        c.peers[c.peer_count++].side =
            bench_way("MPI_Send, MPI_Recv", notified_messages_ask, notified_messages_answer, &s);
        measure_both(b, &c, sizes[i].task, 0.5);
    }
    notified_close(b, &s);
}

typedef struct sums {
    MPI_Comm comm;
    int64_t one;
} sums;

static void sum(bench *b, void *state, uint64_t n) {
    sums *s = state;
    for (; n > 0; n--, s->one = 1)
        bench_ok(tern_notify_allreduce(b->worker, TERN_INT64, TERN_REDUCE_SUM, &s->one, 1),
                 "tern_notify_allreduce");
}

static void mpi_sum(bench *b, void *state, uint64_t n) {
    sums *s = state;
    (void)b;
    for (; n > 0; n--, s->one = 1)
        bench_mpi(MPI_Allreduce(MPI_IN_PLACE, &s->one, 1, MPI_INT64_T, MPI_SUM, s->comm),
                  "MPI_Allreduce");
}

static void collectives(bench *b) {
    sums s = {.one = 1};
    bench_case c = {.name = "sum", .params = {{"bytes", WORD, NULL}}};
    bench_mpi(MPI_Comm_dup(b->comm, &s.comm), "MPI_Comm_dup");
    c.measured = bench_way("tern_notify_allreduce", sum, sum, &s);
    c.peers[c.peer_count++].side = bench_way("MPI_Allreduce", mpi_sum, mpi_sum, &s);
    measure_both(b, &c, "a sum over all ranks, 8 B", 1);
    MPI_Comm_free(&s.comm);
}

typedef struct batch {
    tern_hashtable *table;
    uint64_t key[BATCH], next;
} batch;

static void draw(batch *s, size_t count) {
    for (size_t i = 0; i < count; i++)
        s->key[i] = ceiling_mix(s->next++ % KEYS);
}

static void insert_many(bench *b, void *state, uint64_t n) {
    batch *s = state;
    for (size_t count; n > 0; n -= count) {
        count = n < BATCH ? (size_t)n : BATCH;
        draw(s, count);
        bench_ok(
            tern_hashtable_insert_many(b->worker, s->table, s->key, s->key, count, TERN_AUTO, NULL),
            "tern_hashtable_insert_many");
    }
}

static void insert_each(bench *b, void *state, uint64_t n) {
    batch *s = state;
    for (; n > 0; n--) {
        draw(s, 1);
        bench_ok(tern_hashtable_insert(b->worker, s->table, s->key, s->key, TERN_AUTO, NULL),
                 "tern_hashtable_insert");
    }
}

/* Keys of both ranks by rank 0, while the other rank attends. */
static void batches(bench *b) {
    static batch s;
    const tern_hashtable_options options = {
        .key_bytes = WORD, .value_bytes = WORD, .capacity = 2 * KEYS};
    bench_case c = {.name = "keys"};
    bench_ok(tern_hashtable_create(b->worker, &options, &s.table), "tern_hashtable_create");
    c.measured = bench_way("tern_hashtable_insert_many", insert_many, NULL, &s);
    c.peers[c.peer_count++].side = bench_way("tern_hashtable_insert", insert_each, NULL, &s);
    measure_both(b, &c, "1,024 keys into a hash table, per key", 1);
    bench_ok(tern_hashtable_destroy(b->worker, s.table), "tern_hashtable_destroy");
}

/* How long owners may compute until the way by RMA is faster, where it needs no owner. */
static void owners_compute(const bench *b, const double ns[2], char *text, size_t room) {
    char time[24];
    text[0] = '\0';
    if (b->transport == TERN_P2P || ns[1] >= ns[0])
        return;
    bench_time_text(time, sizeof time, 2 * (ns[0] - ns[1])); /* a call waits for half of it */
    snprintf(text, room, "; by RMA if owners compute for %s between calls of tern", time);
}

static void containers(bench *b, const cells *costs) {
    static const struct {
        tern_model_operation operation;
        const char *task;
    } all[] = {{TERN_MODEL_FIND, "find in a hash table"},
               {TERN_MODEL_INSERT, "insert of a new key"},
               {TERN_MODEL_UPDATE, "insert of a key that is there"},
               {TERN_MODEL_ADD, "add to a key that is there"},
               {TERN_MODEL_PUSH, "push to a queue"},
               {TERN_MODEL_POP, "pop from a queue"}};
    for (size_t i = 0; i < sizeof all / sizeof *all && b->rank == BENCH_ORIGIN; i++) {
        static const tern_flags ways[] = {TERN_BY_RMA, TERN_BY_CALL};
        double ns[2];
        char reason[96];
        for (int way = 0; way < 2; way++)
            bench_ok(tern_model_predict(all[i].operation, ways[way], &costs->others, &costs->own,
                                        &ns[way]),
                     "tern_model_predict");
        owners_compute(b, ns, reason, sizeof reason);
        advise(b, all[i].task, (const char *[]){"TERN_BY_RMA", "TERN_BY_CALL"}, ns, reason);
    }
}

static void print_components(const bench *b, const tern_costs *c) {
    if (b->rank == BENCH_ORIGIN)
        fprintf(
            b->table,
            "  from what this run measured: get %.1f ns, put %.1f, its flush %.1f, atomic %.1f, "
            "call with a result %.1f\n\n  %-38s %-26s %8s   %s\n",
            c->get, c->put, c->flush, c->fetch, c->call, "for", "use", "", "rather than");
}

void bench_advise(bench *b) {
    cells costs;
    FILE *table = b->table;
    b->ends = INFINITY; /* half of what has to be compared is no advice */
    b->table = NULL;
    cells_costs(b, &costs);
    b->table = table;
    print_components(b, &costs.others);
    transfers(b);
    collectives(b);
    containers(b, &costs);
    batches(b);
    bench_note(
        b, "TERN_AUTO, the default, chooses between RMA and calls like this while a program runs.");
    double load = 0;
    if (bench_crowded(b) || (getloadavg(&load, 1) == 1 && load > 2 * b->cores))
        bench_note(b, "The cores are shared with others: measure again when the machine is quiet.");
}
