/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What to use between these two ranks, from what this run measures: for each task the faster of two
 * ways, with both times. Operations of containers are computed by the cost model from the measured
 * components (tern/model.h); everything else is measured itself. Nothing is advised before all has
 * been measured, and nothing at all if one figure cannot be or varied too much (advice.h).
 */

#include "cells.h"
#include "notified.h"

#include <math.h>
#include <stdlib.h>

enum { WORD = 8, KEYS = 1 << 16, BATCH = 1024 };

/* Ways that differ by less are called equal. */
#define EQUAL 1.15

enum { ROWS = 16, DOUBTS = 8 };

/* For a task the faster of two ways, and the other one. */
typedef struct row {
    const char *task, *names[2];
    double ns[2];
    char reason[96]; /* more on the same line, or "" */
} row;

/* What a run has found; at the origin only. */
typedef struct advice {
    row rows[ROWS];
    size_t count;
    char doubts[DOUBTS][160]; /* the first ones */
    size_t doubtful;
} advice;

static void consider(advice *a, const advice_figure *figure) {
    char text[sizeof a->doubts[0]];
    if (!advice_doubts(figure, text, sizeof text))
        return;
    if (a->doubtful < DOUBTS)
        memcpy(a->doubts[a->doubtful], text, sizeof text);
    a->doubtful++;
}

/* For a task either of two ways serves. */
static void add_row(const bench *b, advice *a, const char *task, const char *const names[2],
                    const double ns[2], const char *reason) {
    if (b->rank != BENCH_ORIGIN || a->count == ROWS)
        return;
    const int best = ns[1] < ns[0];
    row *r = &a->rows[a->count++];
    *r = (row){task, {names[best], names[!best]}, {ns[best], ns[!best]}, ""};
    snprintf(r->reason, sizeof r->reason, "%s", reason);
}

static void print_row(const bench *b, const row *r) {
    const double times = r->ns[1] / r->ns[0];
    char fast[24], slow[24], how[48] = "either: they take about as long";
    bench_time_text(fast, sizeof fast, r->ns[0]);
    bench_time_text(slow, sizeof slow, r->ns[1]);
    if (times >= EQUAL)
        snprintf(how, sizeof how, "%.1f times as fast", times);
    fprintf(b->table, "  %-38s %-26s %8s   %-26s %8s   %s%s\n", r->task, r->names[0], fast,
            r->names[1], slow, how, r->reason);
    if (b->json != NULL)
        fprintf(b->json,
                "{\"advice\":\"%s\",\"transport\":\"%s\",\"use\":\"%s\",\"ns\":%.6g,\"instead_of\":"
                "\"%s\",\"instead_ns\":%.6g}\n",
                r->task, tern_transport_name(b->transport), r->names[0], r->ns[0], r->names[1],
                r->ns[1]);
}

/* Says what is wrong in place of advice. It counts as a missed target. */
static void refuse(bench *b, const advice *a) {
    double load = 0;
    char now[64] = "";
    const size_t shown = a->doubtful < DOUBTS ? a->doubtful : DOUBTS;
    fprintf(b->table, "  No advice, because of figures that cannot be or say too little:\n");
    for (size_t i = 0; i < shown; i++)
        fprintf(b->table, "    %s\n", a->doubts[i]);
    if (a->doubtful > shown)
        fprintf(b->table, "    and %zu more\n", a->doubtful - shown);
    if (getloadavg(&load, 1) == 1)
        snprintf(now, sizeof now, " (the load is %.1f on %d cores)", load, b->cores);
    /* A line at a time: the launcher may put what goes to another stream between two pieces. */
    fprintf(b->table, "  Measure again on an idle machine, without --quick%s.\n", now);
    if (b->json != NULL)
        fprintf(b->json, "{\"advice\":null,\"transport\":\"%s\",\"doubts\":%zu}\n",
                tern_transport_name(b->transport), a->doubtful);
    ++*b->missed;
}

/* Measures a case whose one peer is the other way. */
static void measure_both(bench *b, advice *a, const bench_case *c, const char *task, double times) {
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
    const char *const names[] = {c->measured.name, c->peers[0].side.name};
    const advice_figure figures[] = {advice_figure_of(names[0], t->measured, t->pairs),
                                     advice_figure_of(names[1], peer, count)};
    for (int way = 0; way < 2; way++) {
        advice_figure figure = figures[way];
        snprintf(figure.name, sizeof figure.name, "%s, %s", task, names[way]);
        consider(a, &figure);
    }
    add_row(b, a, task, names, (const double[]){figures[0].ns * times, figures[1].ns * times}, "");
}

/* Data that the other rank is told of: half of a round trip. */
static void transfers(bench *b, advice *a) {
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
        measure_both(b, a, &c, sizes[i].task, 0.5);
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
        bench_ok(tern_team_allreduce(b->worker, NULL, TERN_INT64, TERN_REDUCE_SUM, &s->one, 1),
                 "tern_team_allreduce");
}

static void mpi_sum(bench *b, void *state, uint64_t n) {
    sums *s = state;
    (void)b;
    for (; n > 0; n--, s->one = 1)
        bench_mpi(MPI_Allreduce(MPI_IN_PLACE, &s->one, 1, MPI_INT64_T, MPI_SUM, s->comm),
                  "MPI_Allreduce");
}

static void collectives(bench *b, advice *a) {
    sums s = {.one = 1};
    bench_case c = {.name = "sum", .params = {{"bytes", WORD, NULL}}};
    bench_mpi(MPI_Comm_dup(b->comm, &s.comm), "MPI_Comm_dup");
    c.measured = bench_way("tern_team_allreduce", sum, sum, &s);
    c.peers[c.peer_count++].side = bench_way("MPI_Allreduce", mpi_sum, mpi_sum, &s);
    measure_both(b, a, &c, "a sum over all ranks, 8 B", 1);
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
static void batches(bench *b, advice *a) {
    static batch s;
    const tern_hashtable_options options = {
        .key_bytes = WORD, .value_bytes = WORD, .capacity = 2 * KEYS};
    bench_case c = {.name = "keys"};
    bench_ok(tern_hashtable_create(b->worker, &options, &s.table), "tern_hashtable_create");
    c.measured = bench_way("tern_hashtable_insert_many", insert_many, NULL, &s);
    c.peers[c.peer_count++].side = bench_way("tern_hashtable_insert", insert_each, NULL, &s);
    measure_both(b, a, &c, "1,024 keys into a hash table, per key", 1);
    bench_ok(tern_hashtable_destroy(b->worker, s.table), "tern_hashtable_destroy");
}

/* How long owners may compute until RMA is faster, where it needs no owner. */
static void owners_compute(const bench *b, const double ns[2], char *text, size_t room) {
    char time[24];
    text[0] = '\0';
    if (b->transport == TERN_P2P || ns[1] >= ns[0])
        return;
    bench_time_text(time, sizeof time, 2 * (ns[0] - ns[1])); /* a call waits for half of it */
    snprintf(text, room, "; by RMA if owners compute for %s between calls of tern", time);
}

static void containers(bench *b, advice *a, const cells *costs) {
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
        static const tern_flags paths[] = {TERN_BY_RMA, TERN_BY_CALL};
        double ns[2];
        char reason[96];
        for (int p = 0; p < 2; p++)
            bench_ok(
                tern_model_predict(all[i].operation, paths[p], &costs->others, &costs->own, &ns[p]),
                "tern_model_predict");
        owners_compute(b, ns, reason, sizeof reason);
        add_row(b, a, all[i].task, (const char *const[]){"TERN_BY_RMA", "TERN_BY_CALL"}, ns,
                reason);
    }
}

/* The components that the model adds up; its call is that of a container. */
static void components(const bench *b, advice *a, const cells *costs) {
    const tern_costs *c = &costs->others;
    const struct {
        const char *name;
        double ns;
    } all[] = {{"get", c->get},
               {"put", c->put},
               {"flush of a put", c->flush},
               {"atomic", c->fetch},
               {"call with a result", c->call}};
    if (b->rank != BENCH_ORIGIN)
        return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        advice_figure figure = {.ns = all[i].ns};
        snprintf(figure.name, sizeof figure.name, "%s", all[i].name);
        consider(a, &figure);
    }
    consider(a, &costs->widest);
}

static void print(bench *b, const advice *a, const tern_costs *c) {
    fprintf(b->table,
            "  from what this run measured: get %.1f ns, put %.1f, its flush %.1f, atomic %.1f, "
            "call with a result %.1f\n\n  %-38s %-26s %8s   %s\n",
            c->get, c->put, c->flush, c->fetch, c->call, "for", "use", "", "rather than");
    for (size_t i = 0; i < a->count; i++)
        print_row(b, &a->rows[i]);
    bench_note(
        b, "TERN_AUTO, the default, chooses between RMA and calls like this while a program runs.");
    double load = 0;
    if (bench_crowded(b) || (getloadavg(&load, 1) == 1 && load > 2 * b->cores))
        bench_note(b, "The cores are shared with others: measure again when the machine is quiet.");
}

void bench_advise(bench *b) {
    static advice a;
    cells costs;
    FILE *table = b->table;
    a = (advice){.count = 0};
    if (b->options.pairs < ADVICE_PAIRS_LEAST) {
        bench_note(b, "No advice: --pairs is %u, and fewer than %d show no spread.",
                   b->options.pairs, ADVICE_PAIRS_LEAST);
        *b->missed += b->rank == BENCH_ORIGIN;
        return;
    }
    b->ends = INFINITY; /* half of what has to be compared is no advice */
    b->table = NULL;
    cells_costs(b, &costs);
    b->table = table;
    components(b, &a, &costs);
    transfers(b, &a);
    collectives(b, &a);
    containers(b, &a, &costs);
    batches(b, &a);
    if (b->table == NULL)
        return;
    if (a.doubtful > 0)
        refuse(b, &a);
    else
        print(b, &a, &costs.others);
    fflush(b->table);
}
