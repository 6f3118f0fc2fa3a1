/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "bench_stream.h"

const char *const bench_received_names[BENCH_STREAM_WAYS] = {
    "messages (MPI_Recv)", "messages (MPI_Iprobe, MPI_Recv)", "messages (MPI_Irecv, MPI_Test)"};

static const char *const sends[BENCH_STREAM_SENDS] = {
    "messages (MPI_Isend, MPI_Recv)",  "messages (MPI_Isend, MPI_Iprobe)",
    "messages (MPI_Isend, MPI_Irecv)", "messages (MPI_Send, MPI_Recv)",
    "messages (MPI_Send, MPI_Iprobe)", "messages (MPI_Send, MPI_Irecv)"};

static void origin(bench *b, void *state, uint64_t n) {
    bench_stream_shape *shape = state;
    bench_stream *s = shape->stream;
    (void)b;
    if (shape->ring != NULL)
        ceiling_ring_produce(shape->ring, s->payload, s->bytes, s->function, n);
    else
        ceiling_messages_send(&shape->messages, s->payload, s->bytes, s->function, n);
}

static void target(bench *b, void *state, uint64_t n) {
    bench_stream_shape *shape = state;
    bench_stream *s = shape->stream;
    (void)b;
    s->begin(s);
    if (shape->ring != NULL)
        ceiling_rings_consume(shape->ring, 1, s->handlers, s->argument, shape->pauses, n);
    else
        ceiling_messages_receive(&shape->messages, s->handlers, s->argument, s->bytes, n);
    s->check(s, n);
}

static bench_side open_rings(bench *b, bench_stream *s) {
    static const uint64_t sizes[BENCH_STREAM_SIZES] = {128 << 10, 256 << 10, 512 << 10, 1 << 20};
    static const unsigned pauses[BENCH_STREAM_PAUSES] = {0, 8, 32, 128};
    bench_side sides[BENCH_STREAM_SHAPES];
    void *data, *consumed;
    s->data = bench_place(b, BENCH_TARGET, 2 << 20, &data);
    s->consumed = bench_place(b, BENCH_ORIGIN, 4096, &consumed);
    char *at = data;
    for (size_t i = 0; i < BENCH_STREAM_SIZES; i++) {
        ceiling_ring_make(&s->rings[i], at, (uint64_t *)consumed + i * 16, sizes[i], s->bytes,
                          s->batch);
        at += sizes[i];
        for (size_t j = 0; j < BENCH_STREAM_PAUSES; j++) {
            bench_stream_shape *shape = &s->shape[i * BENCH_STREAM_PAUSES + j];
            *shape = (bench_stream_shape){.stream = s, .ring = &s->rings[i], .pauses = pauses[j]};
            sides[i * BENCH_STREAM_PAUSES + j] = bench_way("bare ring", origin, target, shape);
        }
    }
    size_t best = bench_fastest(b, sides, BENCH_STREAM_SHAPES);
    snprintf(s->name, sizeof s->name, "%s (%u KiB, %u pauses)",
             s->batch > 0 ? "ring by 4 KiB" : "bare ring",
             (unsigned)(sizes[best / BENCH_STREAM_PAUSES] >> 10),
             pauses[best % BENCH_STREAM_PAUSES]);
    sides[best].name = s->name;
    return sides[best];
}

void bench_stream_messages(bench_stream *s, int other, bench_side *sides) {
    for (size_t i = 0; i < BENCH_STREAM_SENDS; i++) {
        s->shape[i] =
            (bench_stream_shape){.stream = s,
                                 .messages = {.comm = s->comm,
                                              .other = other,
                                              .how = (ceiling_receive)(i % BENCH_STREAM_WAYS),
                                              .one_by_one = i >= BENCH_STREAM_WAYS}};
        sides[i] = bench_way(sends[i], origin, target, &s->shape[i]);
    }
}

static bool by_ring(const bench *b, const bench_stream *s) { return b->shared && !s->messages; }

bench_side bench_stream_open(bench *b, bench_stream *s) {
    bench_side sides[BENCH_STREAM_SENDS];
    if (by_ring(b, s))
        return open_rings(b, s);
    bench_stream_messages(s, 1 - b->rank, sides);
    return sides[bench_fastest(b, sides, BENCH_STREAM_SENDS)];
}

void bench_stream_close(bench *b, bench_stream *s) {
    if (!by_ring(b, s))
        return;
    bench_unplace(b, BENCH_ORIGIN, s->consumed);
    bench_unplace(b, BENCH_TARGET, s->data);
}
