/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Code that the cases of calls share: handlers that count arrivals, and streams of calls. */

#ifndef TERN_BENCHMARKS_CALL_H
#define TERN_BENCHMARKS_CALL_H

#include "bench_stream.h"

enum { BENCH_CALL_MAX = 256 };

/* What the handlers of all sides count on the target. Service threads run them too. */
typedef struct bench_sink {
    uint64_t count, sum;
} bench_sink;

extern bench_sink bench_sunk;

static inline uint64_t bench_sunk_count(void) {
    return __atomic_load_n(&bench_sunk.count, __ATOMIC_ACQUIRE);
}

void bench_sunk_begin(void);
/* The expected count when n payloads of each of several senders have come, each once. The first
 * words are 1 to n; the words of other lines are those of bench_call_fill. */
uint64_t bench_sunk_expected(uint64_t bytes, uint64_t n);
void bench_sunk_check(uint64_t count, uint64_t sum);

void bench_call_fill(uint64_t *payload); /* BENCH_CALL_MAX bytes */

/* n calls of 8, 64 or 256 bytes, and a flush. The compiler knows the size, as it does in
 * programs. */
void bench_call_stream(bench *b, tern_worker_id target, uint64_t *payload, uint64_t bytes,
                       uint64_t n);
/* The same by messages, one for each call. */
void bench_call_messages(bench *b, tern_worker_id target, uint64_t *payload, uint64_t bytes,
                         uint64_t n);
/* Makes progress until n calls have come. */
void bench_call_await(bench *b, uint64_t n);

/* A handler that takes 8 bytes and answers with as many bytes as they say. */
extern const tern_function *const bench_call_answer;

/* For the ceilings: a stream to one target that does the same to payloads as tern's handlers do. */
void bench_call_ceiling(bench_stream *stream, uint64_t bytes, uint64_t batch, MPI_Comm comm);

/* The cases, each in a file of its own. comm: used for messages only. */
void bench_call_table(bench *b, MPI_Comm comm);
void bench_call_return(bench *b, MPI_Comm comm);
void bench_call_broadcast(bench *own);
void bench_call_many_to_one(bench *own);
void bench_call_service(bench *b);
void bench_call_pairs(bench *b);

#endif
