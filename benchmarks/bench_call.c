/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls: one way at the rate at which they run, each published by itself; and with a result. Where
 * memory is shared the ceilings are a bare ring and a pair of flags in the same segments; elsewhere
 * MPI's messages, received in the fastest of three ways.
 */

#include "bench.h"
#include "ceilings/ceilings.h"
#include "ceilings/message.h"

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

/* One shape of the ring, with what both ranks need for it. */
typedef struct way {
    uint64_t bytes; /* of a payload */
    unsigned pauses;
    ceiling_ring *ring;
    ceiling_messages messages;
    uint64_t payload[PAYLOAD_MAX / 8];
} way;

static void fill(way *w) {
    for (size_t i = 0; i < PAYLOAD_MAX / 8; i++)
        w->payload[i] = i;
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
}

static void call_target(bench *b, void *state, uint64_t n) {
    const way *w = state;
    sunk = (sink){0, 0};
    while (sunk.count < n)
        (void)tern_progress(b->worker);
    check_sunk(w->bytes, n);
}

/* One way by the bare ring, and by messages. */

static void ring_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    ceiling_ring_produce(w->ring, w->payload, w->bytes, function_of(w->bytes), n);
}

static void ring_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    sunk = (sink){0, 0};
    ceiling_ring_consume(w->ring, handlers, &sunk, w->pauses, n);
    check_sunk(w->bytes, n);
}

static void messages_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    ceiling_messages_send(&w->messages, w->payload, w->bytes, function_of(w->bytes), n);
}

static void messages_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    sunk = (sink){0, 0};
    ceiling_messages_receive(&w->messages, handlers, &sunk, w->bytes, n);
    check_sunk(w->bytes, n);
}

/* The bare ring in the best of several sizes and patiences. */
static void one_way_shared(bench *b, bench_case *c, way *base) {
    static const uint64_t sizes[] = {64 << 10, 128 << 10, 256 << 10, 512 << 10};
    static const unsigned pauses[] = {0, 8, 32, 128};
    enum { SIZES = sizeof sizes / sizeof *sizes, PAUSES = sizeof pauses / sizeof *pauses };
    ceiling_ring rings[SIZES];
    way ways[SIZES * PAUSES];
    bench_side sides[SIZES * PAUSES];
    void *data, *consumed;
    tern_ptr data_p = bench_place(b, BENCH_TARGET, 1 << 20, &data);
    tern_ptr consumed_p = bench_place(b, BENCH_ORIGIN, 4096, &consumed);
    char *at = data;
    char name[64];
    for (size_t i = 0; i < SIZES; i++) {
        ceiling_ring_make(&rings[i], at, (uint64_t *)consumed + i * 16, sizes[i], base->bytes);
        at += sizes[i];
        for (size_t j = 0; j < PAUSES; j++) {
            size_t k = i * PAUSES + j;
            ways[k] = *base;
            ways[k].ring = &rings[i];
            ways[k].pauses = pauses[j];
            sides[k] = bench_way("bare ring", ring_origin, ring_target, &ways[k]);
        }
    }
    size_t best = bench_fastest(b, sides, SIZES * PAUSES);
    snprintf(name, sizeof name, "bare ring (%u KiB, %u pauses)",
             (unsigned)(sizes[best / PAUSES] >> 10), pauses[best % PAUSES]);
    c->ceiling = sides[best];
    c->ceiling.name = name;
    bench_measure(b, c);
    bench_unplace(b, BENCH_ORIGIN, consumed_p);
    bench_unplace(b, BENCH_TARGET, data_p);
}

static const char *const received_names[] = {
    "messages (MPI_Recv)", "messages (MPI_Iprobe, MPI_Recv)", "messages (MPI_Irecv, MPI_Test)"};

static void one_way_far(bench *b, bench_case *c, way *base) {
    way ways[3];
    bench_side sides[3];
    for (size_t i = 0; i < 3; i++) {
        ways[i] = *base;
        ways[i].messages.how = (ceiling_receive)i;
        sides[i] = bench_way(received_names[i], messages_origin, messages_target, &ways[i]);
    }
    c->ceiling = sides[bench_fastest(b, sides, 3)];
    bench_measure(b, c);
}

static void one_way(bench *b, way *w, uint64_t bytes) {
    bench_case c = {.name = "one_way", .params = {{"bytes", bytes, NULL}}, .unit = BENCH_RATE};
    if (!bench_selected(b, c.name))
        return;
    w->bytes = bytes;
    c.measured = bench_way("tern_call", call_origin, call_target, w);
    if (b->shared) {
        c.ratio_target = bytes == 8 ? 1 / 0.6 : 0;
        one_way_shared(b, &c, w);
    } else {
        one_way_far(b, &c, w);
    }
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
        sides[i] = bench_way(received_names[i], round_trip_origin, round_trip_target, &ways[i]);
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
    fill(&w);
    w.messages.other = 1 - b->rank;
    bench_mpi(MPI_Comm_dup(b->comm, &w.messages.comm), "MPI_Comm_dup");
    one_way(b, &w, 8);
    one_way(b, &w, 64);
    one_way(b, &w, 256);
    with_result(b, &w);
    MPI_Comm_free(&w.messages.comm);
}
