/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls without results from all other ranks to rank 0: the rate at which all of them together run
 * there. With shared memory they stand beside bare rings, one from each rank, which rank 0 polls;
 * otherwise beside MPI's messages, received with MPI_ANY_SOURCE.
 */

#include "bench_call.h"

#include <stdlib.h>

enum { BYTES = 8, RINGS = 2, PAUSES = 2, SHAPES = RINGS * PAUSES };

typedef struct sender {
    uint64_t payload[BENCH_CALL_MAX / 8];
    tern_publish policy;
} sender;

/* The rings of one size from all senders, and the number of pauses of the consumer. */
typedef struct shape {
    ceiling_ring *ring; /* by sender */
    bench_stream *stream;
    unsigned pauses;
} shape;

/* The share of a rank in n calls. Ranks 1 and up send. */
static uint64_t share(const bench *b, int rank, uint64_t n) {
    uint64_t senders = (uint64_t)b->ranks - 1;
    return n / senders + ((uint64_t)rank <= n % senders);
}

static void check(const bench *b, uint64_t n) {
    uint64_t sum = 0;
    for (int rank = 1; rank < b->ranks; rank++)
        sum += bench_sunk_expected(BYTES, share(b, rank, n));
    bench_sunk_check(n, sum);
}

/* The senders begin when the clock has started. */
static void begin(bench *b) {
    char go = 0;
    bench_sunk_begin();
    if (b->rank == BENCH_ORIGIN)
        bench_send(b, &go, sizeof go);
    else
        bench_receive(b, &go, sizeof go);
}

static void take(bench *b, void *state, uint64_t n) {
    (void)state;
    begin(b);
    bench_call_await(b, n);
    check(b, n);
}

static void call(bench *b, void *state, uint64_t n) {
    sender *s = state;
    begin(b);
    bench_call_stream(b, b->other, s->payload, BYTES, share(b, b->rank, n));
}

static void prepare(bench *b, void *state, uint64_t n) {
    const sender *s = state;
    (void)n;
    if (b->rank != BENCH_ORIGIN)
        bench_ok(tern_call_policy(b->worker, b->other, s->policy, 0), "tern_call_policy");
}

static void consume(bench *b, void *state, uint64_t n) {
    const shape *s = state;
    begin(b);
    ceiling_rings_consume(s->ring, (size_t)b->ranks - 1, s->stream->handlers, &bench_sunk,
                          s->pauses, n);
    check(b, n);
}

static void produce(bench *b, void *state, uint64_t n) {
    const shape *s = state;
    begin(b);
    ceiling_ring_produce(&s->ring[b->rank - 1], s->stream->payload, BYTES, s->stream->function,
                         share(b, b->rank, n));
}

static void receive(bench *b, void *state, uint64_t n) {
    bench_stream_shape *s = state;
    begin(b);
    ceiling_messages_receive(&s->messages, s->stream->handlers, &bench_sunk, BYTES, n);
    check(b, n);
}

static void post(bench *b, void *state, uint64_t n) {
    bench_stream_shape *s = state;
    begin(b);
    ceiling_messages_send(&s->messages, s->stream->payload, BYTES, s->stream->function,
                          share(b, b->rank, n));
}

static bench_side fastest_messages(bench *b, bench_stream *stream) {
    bench_side sides[BENCH_STREAM_SENDS];
    bench_stream_messages(stream, b->rank == BENCH_ORIGIN ? MPI_ANY_SOURCE : BENCH_ORIGIN, sides);
    for (size_t i = 0; i < BENCH_STREAM_SENDS; i++) {
        sides[i].origin = receive;
        sides[i].target = post;
    }
    return sides[bench_fastest(b, sides, BENCH_STREAM_SENDS)];
}

/* In a segment of rank 0: a line moves in either direction even if a producer's part is there. */
typedef struct rings {
    tern_ptr data, consumed;
    ceiling_ring *ring; /* by size, then by sender */
    shape shapes[SHAPES];
    char name[48];
} rings;

static bench_side open_rings(bench *b, rings *r, bench_stream *stream) {
    static const uint64_t sizes[RINGS] = {256 << 10, 512 << 10};
    static const unsigned pauses[PAUSES] = {0, 32};
    const size_t senders = (size_t)b->ranks - 1;
    bench_side sides[SHAPES];
    void *data, *consumed;
    r->data = bench_place(b, BENCH_ORIGIN, senders * (sizes[0] + sizes[1]), &data);
    r->consumed = bench_place(b, BENCH_ORIGIN, senders * RINGS * 128, &consumed);
    r->ring = calloc(senders * RINGS, sizeof *r->ring);
    if (r->ring == NULL)
        bench_fail("calloc", TERN_ERR_MEMORY);
    char *at = data, *told = consumed;
    for (size_t i = 0; i < RINGS; i++) {
        for (size_t sender = 0; sender < senders; sender++, at += sizes[i], told += 128)
            ceiling_ring_make(&r->ring[i * senders + sender], at, (uint64_t *)(void *)told,
                              sizes[i], BYTES, stream->batch);
        for (size_t j = 0; j < PAUSES; j++) {
            r->shapes[i * PAUSES + j] = (shape){&r->ring[i * senders], stream, pauses[j]};
            sides[i * PAUSES + j] =
                bench_way(r->name, consume, produce, &r->shapes[i * PAUSES + j]);
        }
    }
    size_t best = bench_fastest(b, sides, SHAPES);
    snprintf(r->name, sizeof r->name, "%s (%u KiB, %u pauses)",
             stream->batch > 0 ? "rings by 4 KiB" : "bare rings",
             (unsigned)(sizes[best / PAUSES] >> 10), pauses[best % PAUSES]);
    return sides[best];
}

static void close_rings(bench *b, rings *r) {
    bench_unplace(b, BENCH_ORIGIN, r->consumed);
    bench_unplace(b, BENCH_ORIGIN, r->data);
    free(r->ring);
}

static void measure(bench *b, MPI_Comm comm, tern_publish policy) {
    static bench_stream stream;
    static rings r;
    const bool batched = policy == TERN_PUBLISH_BATCHED;
    sender s = {.policy = policy};
    bench_case c = {.name = "many_to_one",
                    .params = {{"senders", (uint64_t)b->ranks - 1, NULL},
                               {"bytes", BYTES, NULL},
                               {"policy", 0, batched ? "batched" : "write"}},
                    .unit = BENCH_RATE};
    bench_call_fill(s.payload);
    bench_call_ceiling(&stream, BYTES, batched ? 4096 : 0, comm);
    c.measured = bench_way("tern_call", take, call, &s);
    c.measured.prepare = prepare;
    if (b->shared) {
        c.ceiling = open_rings(b, &r, &stream);
        bench_measure(b, &c);
        close_rings(b, &r);
        return;
    }
    c.ceiling = fastest_messages(b, &stream);
    bench_measure(b, &c);
}

void bench_call_many_to_one(bench *own) {
    MPI_Comm comm;
    bench_mpi(MPI_Comm_dup(own->comm, &comm), "MPI_Comm_dup");
    measure(own, comm, TERN_PUBLISH_WRITE);
    measure(own, comm, TERN_PUBLISH_BATCHED);
    MPI_Comm_free(&comm);
}
