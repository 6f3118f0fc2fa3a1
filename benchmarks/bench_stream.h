/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ceiling of a stream of small records one way, with an indirect call each. With shared memory
 * it is the bare ring in the best of several sizes and numbers of pauses; otherwise messages, sent
 * in the faster of two ways and received in the fastest of three.
 */

#ifndef TERN_BENCHMARKS_STREAM_H
#define TERN_BENCHMARKS_STREAM_H

#include "bench.h"
#include "ceilings/ceilings.h"
#include "ceilings/message.h"

enum {
    BENCH_STREAM_SIZES = 4,
    BENCH_STREAM_PAUSES = 4,
    BENCH_STREAM_SHAPES = BENCH_STREAM_SIZES * BENCH_STREAM_PAUSES,
    BENCH_STREAM_WORDS = 32,
    BENCH_STREAM_WAYS = 3,
    BENCH_STREAM_SENDS = 2 * BENCH_STREAM_WAYS
};

struct bench_stream;

typedef struct bench_stream_shape {
    struct bench_stream *stream;
    ceiling_ring *ring; /* NULL: messages */
    unsigned pauses;
    ceiling_messages messages;
} bench_stream_shape;

/* The first members are the caller's: what a record is, and what the target does with it. */
typedef struct bench_stream {
    uint64_t bytes; /* of a payload: 8, 64 or 256; its first word counts up from 1 */
    uint64_t batch; /* bytes that a ring publishes together; 0: each record at once */
    bool messages;  /* use messages even with shared memory */
    uint64_t payload[BENCH_STREAM_WORDS];
    unsigned function; /* index among the handlers */
    const ceiling_handler *handlers;
    void *argument;
    void (*begin)(struct bench_stream *stream);
    void (*check)(const struct bench_stream *stream, uint64_t n);
    MPI_Comm comm; /* used for nothing else */
    /* The remaining members belong to the stream. */
    bench_stream_shape shape[BENCH_STREAM_SHAPES];
    ceiling_ring rings[BENCH_STREAM_SIZES];
    tern_ptr data, consumed;
    char name[64];
} bench_stream;

/* The names of the ways to receive, by ceiling_receive. */
extern const char *const bench_received_names[BENCH_STREAM_WAYS];

/* All the ways of a stream of messages, in shape and sides. other: as in ceiling_messages. */
void bench_stream_messages(bench_stream *stream, int other, bench_side *sides);

/* Both ranks call it: it tries all shapes and returns the fastest, valid until the stream is
 * closed. */
bench_side bench_stream_open(bench *b, bench_stream *stream);
void bench_stream_close(bench *b, bench_stream *stream);

#endif
