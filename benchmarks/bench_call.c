/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* Calls: the handlers that all cases share, and the list of cases. */

#include "bench_call.h"

#include <sched.h>

enum { FUNCTION_WORD = 1, FUNCTION_LINES, FUNCTIONS, LINE = 64 };

bench_sink bench_sunk;

/* The release pairs with the load in bench_sunk_count, by a thread that ran no handler. */
static inline __attribute__((always_inline)) void count(bench_sink *s) {
    __atomic_store_n(&s->count, s->count + 1, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void sink_word(bench_sink *s, const void *payload) {
    uint64_t word;
    memcpy(&word, payload, sizeof word);
    s->sum += word;
    count(s);
}

/* Reads the first word of each cache line, so that all lines travel. */
static inline __attribute__((always_inline)) void sink_lines(bench_sink *s, const char *payload,
                                                             size_t bytes) {
    uint64_t sum = 0, word;
    for (size_t at = 0; at < bytes; at += LINE) {
        memcpy(&word, payload + at, sizeof word);
        sum += word;
    }
    s->sum += sum;
    count(s);
}

static tern_status bench_call_word(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)bytes;
    sink_word(&bench_sunk, arguments);
    return TERN_OK;
}
TERN_FUNCTION(bench_call_word)

static tern_status bench_call_lines(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    sink_lines(&bench_sunk, arguments, bytes);
    return TERN_OK;
}
TERN_FUNCTION(bench_call_lines)

static tern_status bench_call_echo(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t size;
    if (bytes != sizeof size)
        return TERN_ERR_RANGE;
    memcpy(&size, arguments, sizeof size);
    if (size < sizeof size || size > TERN_RESULT_MAX)
        return TERN_ERR_RANGE;
    memcpy(call->result, &size, sizeof size);
    call->result_bytes = size;
    count(&bench_sunk);
    return TERN_OK;
}
TERN_FUNCTION(bench_call_echo)

const tern_function *const bench_call_answer = &bench_call_echo_function;

static void word_handler(void *argument, const void *payload, size_t bytes) {
    (void)bytes;
    sink_word(argument, payload);
}

static void lines_handler(void *argument, const void *payload, size_t bytes) {
    sink_lines(argument, payload, bytes);
}

static const ceiling_handler handlers[FUNCTIONS] = {
    [FUNCTION_WORD] = word_handler, [FUNCTION_LINES] = lines_handler};

void bench_sunk_begin(void) { bench_sunk = (bench_sink){0, 0}; }

uint64_t bench_sunk_expected(uint64_t bytes, uint64_t n) {
    uint64_t expected = n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
    for (uint64_t at = LINE; at < bytes; at += LINE)
        expected += n * (at / 8);
    return expected;
}

void bench_sunk_check(uint64_t count, uint64_t sum) {
    if (bench_sunk.count != count || bench_sunk.sum != sum)
        bench_fail("the target did not get what was sent", TERN_ERR_SYSTEM);
}

void bench_call_fill(uint64_t *payload) {
    for (size_t i = 0; i < BENCH_CALL_MAX / 8; i++)
        payload[i] = i;
}

static inline __attribute__((always_inline)) void stream(bench *b, tern_worker_id target,
                                                         const tern_function *function,
                                                         uint64_t *payload, size_t bytes,
                                                         uint64_t n) {
    for (uint64_t i = 1; i <= n; i++) {
        payload[0] = i;
        bench_ok(tern_call(b->worker, target, function, payload, bytes), "tern_call");
    }
}

void bench_call_stream(bench *b, tern_worker_id target, uint64_t *payload, uint64_t bytes,
                       uint64_t n) {
    tern_status status;
    if (bytes == 8)
        stream(b, target, &bench_call_word_function, payload, 8, n);
    else if (bytes == 64)
        stream(b, target, &bench_call_lines_function, payload, 64, n);
    else
        stream(b, target, &bench_call_lines_function, payload, 256, n);
    while ((status = tern_call_flush(b->worker, target)) == TERN_ERR_AGAIN)
        (void)tern_progress(b->worker);
    bench_ok(status, "tern_call_flush");
}

void bench_call_messages(bench *b, tern_worker_id target, uint64_t *payload, uint64_t bytes,
                         uint64_t n) {
    const tern_function *function =
        bytes == 8 ? &bench_call_word_function : &bench_call_lines_function;
    for (uint64_t i = 1; i <= n; i++) {
        tern_status status;
        payload[0] = i;
        while ((status = tern_call(b->worker, tern_by_message(target), function, payload, bytes)) ==
               TERN_ERR_AGAIN)
            (void)tern_progress(b->worker);
        bench_ok(status, "tern_call by message");
    }
}

void bench_call_await(bench *b, uint64_t n) {
    while (bench_sunk_count() < n)
        if (tern_progress(b->worker) == 0 && bench_crowded(b))
            sched_yield();
}

static void begin_stream(bench_stream *stream) {
    (void)stream;
    bench_sunk_begin();
}

static void check_stream(const bench_stream *stream, uint64_t n) {
    bench_sunk_check(n, bench_sunk_expected(stream->bytes, n));
}

void bench_call_ceiling(bench_stream *stream, uint64_t bytes, uint64_t batch, MPI_Comm comm) {
    *stream = (bench_stream){.bytes = bytes,
                             .batch = batch,
                             .function = bytes == 8 ? FUNCTION_WORD : FUNCTION_LINES,
                             .handlers = handlers,
                             .argument = &bench_sunk,
                             .begin = begin_stream,
                             .check = check_stream,
                             .comm = comm};
    bench_call_fill(stream->payload);
}

void bench_call_many(bench *b) {
    if (bench_selected(b, "broadcast"))
        bench_group_each(b, bench_call_broadcast);
    if (bench_selected(b, "many_to_one"))
        bench_group_each(b, bench_call_many_to_one);
}

void bench_call(bench *b) {
    MPI_Comm comm;
    int size;
    MPI_Comm_size(b->world, &size);
    if (size == 2) {
        bench_mpi(MPI_Comm_dup(b->comm, &comm), "MPI_Comm_dup");
        bench_call_table(b, comm);
        bench_call_return(b, comm);
        MPI_Comm_free(&comm);
        bench_call_service(b);
        bench_call_pairs(b);
    } else {
        bench_note(b, "the cases between two ranks are left out: mpirun -n 2");
    }
    bench_call_many(b);
}
