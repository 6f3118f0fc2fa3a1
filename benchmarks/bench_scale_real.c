/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The simulation beside real ranks that run the same programs. Times are those of two ranks, with
 * costs that follow from components measured in the same run.
 * Counts are those of tern_stats, of all ranks together, and need no quiet machine.
 */

#include "bench_scale.h"
#include "cells.h"
#include "ceilings/ceilings.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

enum {
    TIMED = 1000, /* operations of a rank in a round, */
    TIMED_QUICK = 200,
    ROUNDS = 25,  /* and rounds; the shortest counts */
    LARGE = 4096, /* bytes of a large get */
    COUNTED = 32, /* operations of a rank towards each other one */
    ENTRY = 24,   /* bytes that an insert by RMA puts: check, key, value; */
    INSERT = 40,  /* and of the arguments of one by call */
    ITEM = 16,    /* of a queue, */
    SLOT = 24     /* and with its check */
};

typedef struct real {
    tern_hashtable *table;
    tern_queue **queue; /* of each rank */
    tern_ptr *place;    /* LARGE bytes of each rank */
    uint64_t key;       /* the next one */
    uint32_t turn;
    uint64_t taken; /* one-way calls of others that have run here, */
    uint64_t due;   /* and that will have */
} real;

static real now;

static tern_status bench_scale_take(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    call->result_bytes = 8;
    memset(call->result, 0, 8);
    return TERN_OK;
}
TERN_FUNCTION(bench_scale_take)

static tern_status bench_scale_hear(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    now.taken++;
    return TERN_OK;
}
TERN_FUNCTION(bench_scale_hear)

/* The other ranks in turn, as SCALE_OTHERS. */
static uint32_t next_rank(const bench *b) {
    const uint32_t others = (uint32_t)b->ranks - 1;
    return ((uint32_t)b->rank + 1 + now.turn++ % others) % (uint32_t)b->ranks;
}

/* A key that no rank has inserted: of any owner, or of that one. */
static uint64_t next_key(const bench *b, uint32_t owner, bool any) {
    for (;;) {
        const uint64_t key = ceiling_mix(now.key);
        now.key += (uint64_t)b->ranks;
        if (any || tern_hashtable_owner(now.table, &key) == owner)
            return key;
    }
}

static void run_call(bench *b, uint32_t n) {
    const uint64_t word = 1;
    now.due += n; /* a faster rank may have sent some of them already */
    for (uint32_t i = 0; i < n; i++) {
        const tern_worker_id to = {next_rank(b), 0};
        tern_status status;
        while ((status = tern_call(b->worker, to, &bench_scale_hear_function, &word,
                                   sizeof word)) == TERN_ERR_AGAIN)
            (void)tern_progress(b->worker);
        bench_ok(status, "tern_call");
        (void)tern_progress(b->worker);
    }
    bench_ok(tern_flush_all(b->worker), "tern_flush_all");
    while (now.taken < now.due)
        if (tern_progress(b->worker) == 0)
            sched_yield();
}

static void run_call_return(bench *b, uint32_t n) {
    uint64_t word = 1;
    for (uint32_t i = 0; i < n; i++)
        bench_ok(tern_call_return(b->worker, (tern_worker_id){next_rank(b), 0},
                                  &bench_scale_take_function, &word, sizeof word, &word,
                                  sizeof word, NULL),
                 "tern_call_return");
}

static void run_put(bench *b, uint32_t n) {
    const uint64_t word = 1;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t to = next_rank(b);
        bench_ok(tern_put(b->worker, bench_opaque(now.place[to]), &word, sizeof word), "tern_put");
        bench_ok(tern_flush(b->worker, to), "tern_flush");
    }
}

static void insert_one(bench *b, uint64_t key, tern_flags path) {
    const uint64_t value = key;
    bench_ok(
        tern_hashtable_insert(b->worker, now.table, &key, &value, TERN_READ_WRITE | path, NULL),
        "tern_hashtable_insert");
}

static void run_insert_rma(bench *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        insert_one(b, next_key(b, next_rank(b), false), TERN_BY_RMA);
}

static void run_insert_call(bench *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        insert_one(b, next_key(b, next_rank(b), false), TERN_BY_CALL);
}

static void run_push(bench *b, uint32_t n) {
    const char item[ITEM] = {1};
    for (uint32_t i = 0; i < n; i++)
        bench_ok(tern_queue_push(b->worker, now.queue[next_rank(b)], item,
                                 TERN_WRITE_ONLY | TERN_BY_RMA),
                 "tern_queue_push");
}

typedef struct program {
    scale_program program;
    void (*run)(bench *b, uint32_t n);
    uint32_t bytes;
    bool is_component;
} program;

static const program programs[] = {
    {SCALE_CALL, run_call, 8, true},
    {SCALE_CALL_RETURN, run_call_return, 8, true},
    {SCALE_PUT, run_put, 8, false},
    {SCALE_INSERT_RMA, run_insert_rma, ENTRY, false},
    {SCALE_INSERT_CALL, run_insert_call, INSERT, false},
    {SCALE_PUSH_RMA, run_push, SLOT, false},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* All ranks: a table for so many keys, and on each rank LARGE bytes and a queue of so many items.
 */
static void real_open(bench *b, uint64_t keys) {
    const tern_hashtable_options options = {
        .key_bytes = sizeof(uint64_t), .value_bytes = sizeof(uint64_t), .capacity = 8 * keys};
    tern_ptr mine;
    now = (real){.key = (uint64_t)b->rank,
                 .queue = calloc((size_t)b->ranks, sizeof(tern_queue *)),
                 .place = calloc((size_t)b->ranks, sizeof *now.place)};
    if (now.queue == NULL || now.place == NULL)
        bench_fail("malloc", TERN_ERR_MEMORY);
    for (uint32_t r = 0; r < (uint32_t)b->ranks; r++) {
        const tern_queue_options queue = {.host = r, .item_bytes = ITEM, .capacity = keys};
        bench_ok(tern_queue_create(b->worker, &queue, &now.queue[r]), "tern_queue_create");
    }
    bench_ok(tern_hashtable_create(b->worker, &options, &now.table), "tern_hashtable_create");
    bench_ok(tern_alloc(b->worker, LARGE, 0, TERN_DOMAIN_GLOBAL, &mine), "tern_alloc");
    bench_mpi(
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, now.place, sizeof mine, MPI_BYTE, b->comm),
        "MPI_Allgather");
    cells_end(b);
}

static void real_close(bench *b) {
    cells_end(b);
    bench_ok(tern_free(b->worker, now.place[b->rank]), "tern_free");
    bench_ok(tern_hashtable_destroy(b->worker, now.table), "tern_hashtable_destroy");
    for (int r = 0; r < b->ranks; r++)
        bench_ok(tern_queue_destroy(b->worker, now.queue[r]), "tern_queue_destroy");
    free(now.queue);
    free(now.place);
}

/* Components. Each runs on both ranks at once. */
static void run_get(bench *b, uint32_t n) {
    uint64_t word;
    for (uint32_t i = 0; i < n; i++)
        bench_ok(tern_get(b->worker, &word, bench_opaque(now.place[next_rank(b)]), sizeof word),
                 "tern_get");
}

static void run_get_large(bench *b, uint32_t n) {
    static char data[LARGE];
    for (uint32_t i = 0; i < n; i++)
        bench_ok(tern_get(b->worker, data, bench_opaque(now.place[next_rank(b)]), sizeof data),
                 "tern_get");
}

static void run_put_stream(bench *b, uint32_t n) {
    const uint64_t word = 1;
    for (uint32_t i = 0; i < n; i++)
        bench_ok(tern_put(b->worker, bench_opaque(now.place[next_rank(b)]), &word, sizeof word),
                 "tern_put");
    bench_ok(tern_flush_all(b->worker), "tern_flush_all");
}

static void run_atomic(bench *b, uint32_t n) {
    uint64_t seen;
    for (uint32_t i = 0; i < n; i++)
        bench_ok(tern_atomic_fetch_add(b->worker, bench_opaque(now.place[next_rank(b)]), 1, &seen),
                 "tern_atomic_fetch_add");
}

static void run_progress(bench *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        (void)tern_progress(b->worker);
}

/* The shortest of several rounds: on a machine with other work that is the one that was disturbed
 * least. All ranks get the figure of the origin. */
static double time_of(bench *b, void (*run)(bench *, uint32_t), uint32_t n) {
    double shortest = INFINITY;
    run(b, n / 4 + 1); /* rings and routes are there */
    for (int i = 0; i < ROUNDS; i++) {
        cells_end(b);
        const double begin = bench_now();
        run(b, n);
        cells_end(b);
        shortest = fmin(shortest, (bench_now() - begin) / n);
    }
    bench_mpi(MPI_Bcast(&shortest, 1, MPI_DOUBLE, 0, b->comm), "MPI_Bcast");
    return shortest;
}

/*
 * One-sided: a put costs o, a get o + L + L, a call o + L + delay + serve + o + L. As messages:
 * each rank sends and receives o in a stream of puts, a get is o + L + o, and the same back. Both
 * ranks send and serve one-way calls. An atomic by its owner is two messages.
 */
static void costs_from(bench *b, uint32_t n, scale_job *job) {
    scale_loggp *c = &job->costs;
    const double get = time_of(b, run_get, n), large = time_of(b, run_get_large, n);
    const double put = time_of(b, run_put_stream, n), atomic = time_of(b, run_atomic, n);
    const double stream = time_of(b, run_call, n), call = time_of(b, run_call_return, n);
    job->messages = b->transport == TERN_P2P;
    job->by_owner = !b->shared;
    job->issue = 0;
    if (job->messages) {
        c->o = fmin(put / 2, get / 4);
        c->L = get / 2 - 2 * c->o;
        job->message = *c;
        job->serve = fmax(stream - 2 * c->o, 0);
        job->delay = fmax(call - 4 * c->o - 2 * c->L - job->serve, 0);
    } else {
        c->o = fmin(fmin(put, get), stream);
        c->L = (get - c->o) / 2;
        job->message.L = fmin(c->L, atomic / 4);
        job->message.o = (atomic - 2 * job->message.L) / 4;
        job->serve = stream - c->o;
        job->delay = fmax(call - 2 * c->o - 2 * c->L - job->serve, 0);
    }
    c->g = c->o;
    job->message.g = job->message.o;
    c->G = job->message.G = fmax((large - get) / (LARGE - 8), 0);
    job->local = job->polls = time_of(b, run_progress, n);
    job->frame_header = job->messages || b->shared ? 0 : SCALE_FRAME_HEADER;
    if (b->table == NULL)
        return;
    bench_note(b,
               "components: get %.4g, get of %d bytes %.4g, put in a stream %.4g, atomic %.4g, "
               "call %.4g, call_return %.4g, progress %.4g ns",
               get, LARGE, large, put, atomic, stream, call, job->polls);
}

static uint32_t operations_of(const bench *b) { return b->options.quick ? TIMED_QUICK : TIMED; }

void scale_measure_costs(bench *b, scale_job *job) {
    real_open(b, 1);
    costs_from(b, operations_of(b), job);
    real_close(b);
}

void scale_compare_times(bench *b, const scale_job *costs) {
    const uint32_t n = operations_of(b);
    const scale_network measured = {"measured", costs->costs, "this run's components"};
    real_open(b, (uint64_t)PROGRAMS * (ROUNDS + 1) * n * 2);
    if (b->table != NULL) {
        scale_report_network(b, &measured, costs);
        fprintf(b->table, "\n  two ranks, %u operations each, over %s\n  %-28s %12s %12s %12s\n", n,
                tern_transport_name(b->transport), "time of an operation", "real", "simulated",
                "error");
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        scale_job job = *costs;
        scale_outcome outcome;
        if (programs[i].is_component)
            continue;
        job.program = programs[i].program;
        job.bytes = programs[i].bytes;
        job.towards = SCALE_OTHERS;
        job.operations = n;
        const double real_ns = time_of(b, programs[i].run, n);
        if (b->table == NULL)
            continue;
        scale_run(&job, &outcome);
        scale_report_time(b, scale_program_names[job.program], real_ns, outcome.ns / n);
    }
    real_close(b);
}

/* Sums a counter of all ranks, since before. */
static tern_stats sum_stats(bench *b, const tern_stats *before) {
    tern_stats stats, sum;
    const size_t count = sizeof stats / sizeof(uint64_t);
    tern_stats_get(b->worker, &stats);
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)(void *)&stats)[i] -= ((const uint64_t *)(const void *)before)[i];
    bench_mpi(MPI_Allreduce(&stats, &sum, (int)count, MPI_UINT64_T, MPI_SUM, b->comm),
              "MPI_Allreduce");
    return sum;
}

/* Messages of MPI, as the transport uses them. An insert flushes over p2p by a message. */
static uint64_t simulated_messages(const bench *b, const scale_outcome *o) {
    return b->transport == TERN_P2P ? o->openings + o->frames + o->replies + o->credits + o->puts +
                                          o->gets + o->atomics + o->flushes
                                    : o->openings + o->credits + o->atomics;
}

static void count_program(bench *b, const program *p) {
    tern_stats before, real_counts;
    scale_outcome o;
    scale_job job = scale_job_of(&scale_networks[0].costs, (uint32_t)b->ranks);
    job.program = p->program;
    job.bytes = p->bytes;
    job.towards = SCALE_OTHERS;
    job.operations = COUNTED * ((uint32_t)b->ranks - 1);
    job.fresh = p->program == SCALE_CALL_RETURN; /* the first that is counted */
    job.frame_header = b->transport == TERN_P2P ? 0 : SCALE_FRAME_HEADER;
    tern_stats_get(b->worker, &before);
    cells_end(b);
    now.turn = 0;
    p->run(b, job.operations);
    cells_end(b);
    real_counts = sum_stats(b, &before);
    if (b->table == NULL)
        return;
    scale_run(&job, &o);
    const char *name = scale_program_names[p->program];
    const uint64_t all = (uint64_t)job.operations * (uint64_t)b->ranks;
    scale_report_count(b, name, "calls", all, real_counts.calls_sent, o.frames, 0);
    scale_report_count(b, name, "frames", all, real_counts.frames_sent, o.frames, 0);
    scale_report_count(b, name, "records", all, real_counts.records_received, o.frames, 0);
    scale_report_count(b, name, "puts", all, real_counts.puts, o.puts, 0.05);
    scale_report_count(b, name, "gets", all, real_counts.gets, o.gets, 0.05);
    scale_report_count(b, name, "atomics", all, real_counts.atomics, o.atomics, 0.05);
    scale_report_count(b, name, "flushes", all, real_counts.flushes, o.flushes, 0.05);
    if (b->transport == TERN_P2P || b->transport == TERN_RMA)
        scale_report_count(b, name, "messages", all, real_counts.messages_sent,
                           simulated_messages(b, &o), 0.05);
}

void scale_compare_counts(bench *b) {
    if (b->shared || b->mixed) {
        bench_note(b, "counts are compared where ranks share no memory: TERN_TRANSPORT=p2p "
                      "TERN_RANKS_PER_NODE=1");
        return;
    }
    real_open(b, (uint64_t)PROGRAMS * COUNTED * (uint64_t)b->ranks * (uint64_t)b->ranks);
    if (b->table != NULL)
        fprintf(b->table, "\n  counts of %d ranks together\n  %-16s %-12s %12s %12s\n", b->ranks,
                "program", "of", "real", "simulated");
    for (size_t i = 0; i < PROGRAMS; i++)
        if (programs[i].program != SCALE_CALL)
            count_program(b, &programs[i]);
    real_close(b);
}
