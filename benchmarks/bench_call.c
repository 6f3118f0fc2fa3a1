/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls: one way at the rate at which they run, under each publishing policy; and with a result.
 * Where memory is shared the ceilings are a bare ring and a pair of flags in the same segments;
 * elsewhere MPI's messages, received in the fastest of three ways.
 */

#include "bench_stream.h"

enum { PAYLOAD_MAX = 256, FUNCTION_WORD = 1, FUNCTION_LINES, FUNCTIONS, LINE = 64 };

/* What the handlers of both sides do to the payload, on the target. */
typedef struct sink {
    uint64_t count, sum;
} sink;

static sink sunk;

static inline __attribute__((always_inline)) void sink_word(sink *s, const void *payload) {
    uint64_t word;
    memcpy(&word, payload, sizeof word);
    s->sum += word;
    s->count++;
}

/* The first word of each cache line, so that all of them travel. */
static inline __attribute__((always_inline)) void sink_lines(sink *s, const char *payload,
                                                             size_t bytes) {
    uint64_t sum = 0, word;
    for (size_t at = 0; at < bytes; at += LINE) {
        memcpy(&word, payload + at, sizeof word);
        sum += word;
    }
    s->sum += sum;
    s->count++;
}

static tern_status bench_call_word(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)bytes;
    sink_word(&sunk, arguments);
    return TERN_OK;
}
TERN_FUNCTION(bench_call_word)

static tern_status bench_call_lines(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    sink_lines(&sunk, arguments, bytes);
    return TERN_OK;
}
TERN_FUNCTION(bench_call_lines)

static tern_status bench_call_echo(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)bytes;
    memcpy(call->result, arguments, sizeof(uint64_t));
    call->result_bytes = sizeof(uint64_t);
    sunk.count++;
    return TERN_OK;
}
TERN_FUNCTION(bench_call_echo)

static void word_handler(void *argument, const void *payload, size_t bytes) {
    (void)bytes;
    sink_word(argument, payload);
}

static void lines_handler(void *argument, const void *payload, size_t bytes) {
    sink_lines(argument, payload, bytes);
}

static const ceiling_handler handlers[FUNCTIONS] = {
    [FUNCTION_WORD] = word_handler, [FUNCTION_LINES] = lines_handler};

/* What both ranks need for a case. */
typedef struct way {
    uint64_t bytes; /* of a payload */
    tern_publish policy;
    ceiling_messages messages;
    uint64_t payload[PAYLOAD_MAX / 8];
} way;

static void fill(uint64_t *payload) {
    for (size_t i = 0; i < PAYLOAD_MAX / 8; i++)
        payload[i] = i;
}

static unsigned function_of(uint64_t bytes) {
    return bytes == sizeof(uint64_t) ? FUNCTION_WORD : FUNCTION_LINES;
}

/* Every payload has come, each once: the first words are 1 to n, those of other lines as filled. */
static void check_sunk(uint64_t bytes, uint64_t n) {
    uint64_t expected = n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
    for (uint64_t at = LINE; at < bytes; at += LINE)
        expected += n * (at / 8);
    if (sunk.count != n || sunk.sum != expected)
        bench_fail("the target did not get what the origin sent", TERN_ERR_SYSTEM);
}

/* One way by tern. The size is passed as a number that the compiler knows, as programs do. */

static inline __attribute__((always_inline)) void
call(bench *b, way *w, const tern_function *function, size_t bytes, uint64_t n) {
    for (uint64_t i = 1; i <= n; i++) {
        w->payload[0] = i;
        bench_ok(tern_call(b->worker, b->other, function, w->payload, bytes), "tern_call");
    }
}

static void call_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    if (w->bytes == 8)
        call(b, w, &bench_call_word_function, 8, n);
    else if (w->bytes == 64)
        call(b, w, &bench_call_lines_function, 64, n);
    else
        call(b, w, &bench_call_lines_function, 256, n);
    tern_status status;
    while ((status = tern_call_flush(b->worker, b->other)) == TERN_ERR_AGAIN)
        (void)tern_progress(b->worker);
    bench_ok(status, "tern_call_flush");
}

static void call_target(bench *b, void *state, uint64_t n) {
    const way *w = state;
    sunk = (sink){0, 0};
    while (sunk.count < n)
        (void)tern_progress(b->worker);
    check_sunk(w->bytes, n);
}

static void begin_stream(bench_stream *stream) {
    (void)stream;
    sunk = (sink){0, 0};
}

static void check_stream(const bench_stream *stream, uint64_t n) { check_sunk(stream->bytes, n); }

static void one_way(bench *b, way *w, uint64_t bytes) {
    static bench_stream stream;
    static const char *const policies[] = {"write", "trad", "ovfl"};
    bench_case c = {.name = "one_way",
                    .params = {{"bytes", bytes, NULL}, {"policy", 0, policies[w->policy]}},
                    .unit = BENCH_RATE};
    if (!bench_selected(b, c.name))
        return;
    w->bytes = bytes;
    bench_ok(tern_call_policy(b->worker, b->other, w->policy, 0), "tern_call_policy");
    c.measured = bench_way("tern_call", call_origin, call_target, w);
    if (b->shared && (bytes == 8 || (bytes == 256 && w->policy == TERN_PUBLISH_TRAD)))
        c.ratio_target = 1 / 0.8;
    stream = (bench_stream){.bytes = bytes,
                            .function = function_of(bytes),
                            .handlers = handlers,
                            .argument = &sunk,
                            .begin = begin_stream,
                            .check = check_stream,
                            .comm = w->messages.comm};
    fill(stream.payload);
    c.ceiling = bench_stream_open(b, &stream);
    bench_measure(b, &c);
    bench_stream_close(b, &stream);
}

/* With a result. */

static void return_origin(bench *b, void *state, uint64_t n) {
    (void)state;
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t result = 0;
        size_t bytes = 0;
        bench_ok(tern_call_return(b->worker, b->other, &bench_call_echo_function, &i, sizeof i,
                                  &result, sizeof result, &bytes),
                 "tern_call_return");
        if (__builtin_expect(result != i || bytes != sizeof result, 0))
            bench_fail("tern_call_return gave another result than its handler", TERN_ERR_SYSTEM);
    }
}

static void return_target(bench *b, void *state, uint64_t n) {
    (void)state;
    sunk.count = 0;
    while (sunk.count < n)
        (void)tern_progress(b->worker);
}

static void flag_origin(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_ask(state, n);
}

static void flag_target(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_answer(state, n);
}

static void round_trip_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    uint64_t back;
    (void)b;
    ceiling_messages_ask(&w->messages, w->payload, 8, &back, 8, n);
}

static void round_trip_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    uint64_t there, back = 0;
    (void)b;
    ceiling_messages_answer(&w->messages, &there, 8, &back, 8, n);
}

static void with_result(bench *b, way *w) {
    bench_case c = {.name = "call_return", .params = {{"bytes", 8, NULL}}};
    way ways[3];
    bench_side sides[3];
    if (!bench_selected(b, c.name))
        return;
    c.measured = bench_way("tern_call_return", return_origin, return_target, NULL);
    for (size_t i = 0; i < 3; i++) {
        ways[i] = *w;
        ways[i].messages.how = (ceiling_receive)i;
        sides[i] =
            bench_way(bench_received_names[i], round_trip_origin, round_trip_target, &ways[i]);
    }
    bench_side best = sides[bench_fastest(b, sides, 3)];
    if (!b->shared) {
        c.ceiling = best;
        c.ratio_target = b->same_host ? 0 : 1.3;
        bench_measure(b, &c);
        return;
    }
    ceiling_flag flag = {NULL, NULL, 0};
    tern_ptr there = bench_place(b, BENCH_TARGET, 4096, (void **)&flag.there);
    tern_ptr back = bench_place(b, BENCH_ORIGIN, 4096, (void **)&flag.back);
    c.ceiling = bench_way("flag round trip", flag_origin, flag_target, &flag);
    c.peers[c.peer_count++].side = best;
    bench_measure(b, &c);
    bench_unplace(b, BENCH_ORIGIN, back);
    bench_unplace(b, BENCH_TARGET, there);
}

void bench_call(bench *b) {
    static way w;
    fill(w.payload);
    w.messages.other = 1 - b->rank;
    bench_mpi(MPI_Comm_dup(b->comm, &w.messages.comm), "MPI_Comm_dup");
    for (unsigned p = TERN_PUBLISH_WRITE; p <= TERN_PUBLISH_OVFL; p++) {
        w.policy = (tern_publish)p;
        one_way(b, &w, 8);
        one_way(b, &w, 64);
        one_way(b, &w, 256);
    }
    bench_ok(tern_call_policy(b->worker, b->other, TERN_PUBLISH_WRITE, 0), "tern_call_policy");
    with_result(b, &w);
    MPI_Comm_free(&w.messages.comm);
}
