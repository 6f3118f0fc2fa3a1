/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls with a result: 8 bytes of arguments, 8 to 1,024 bytes of result. With shared memory they
 * stand beside a round trip of two flags; above 8 bytes the result is copied over and read.
 * Otherwise they stand beside MPI's messages, received in the fastest of three ways. Both stand
 * beside the same calls by message, of a worker and of a thread without one.
 */

#include "bench_call.h"

enum { BY_RING, BY_MESSAGE, BY_THREAD, HOWS };

typedef struct way {
    uint64_t bytes; /* of the result */
    int how;
    ceiling_flag flag;
    ceiling_copy_flag copy;
    ceiling_messages messages;
    char result[TERN_RESULT_MAX], source[TERN_RESULT_MAX];
} way;

static void return_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    tern_worker *caller =
        w->how == BY_THREAD ? tern_context_caller(tern_worker_context(b->worker)) : b->worker;
    const tern_worker_id other = w->how == BY_RING ? b->other : tern_by_message(b->other);
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t first = 0;
        size_t bytes = 0;
        bench_ok(tern_call_return(caller, other, bench_call_answer, &w->bytes, sizeof w->bytes,
                                  w->result, sizeof w->result, &bytes),
                 "tern_call_return");
        memcpy(&first, w->result, sizeof first);
        if (__builtin_expect(first != w->bytes || bytes != w->bytes, 0))
            bench_fail("tern_call_return gave another result than its handler", TERN_ERR_SYSTEM);
    }
}

static void return_target(bench *b, void *state, uint64_t n) {
    (void)state;
    bench_sunk_begin();
    bench_call_await(b, n);
}

static void flag_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    if (w->bytes == 8)
        ceiling_flag_ask(&w->flag, n);
    else
        ceiling_copy_flag_take(&w->copy, n);
}

static void flag_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    if (w->bytes == 8)
        ceiling_flag_answer(&w->flag, n);
    else
        ceiling_copy_flag_answer(&w->copy, n);
}

static void messages_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    ceiling_messages_ask(&w->messages, w->source, 8, w->result, w->bytes, n);
}

static void messages_target(bench *b, void *state, uint64_t n) {
    way *w = state;
    (void)b;
    ceiling_messages_answer(&w->messages, w->result, 8, w->source, w->bytes, n);
}

static bench_side fastest_messages(bench *b, way *ways, uint64_t bytes, MPI_Comm comm) {
    bench_side sides[BENCH_STREAM_WAYS];
    for (size_t i = 0; i < BENCH_STREAM_WAYS; i++) {
        ways[i].bytes = bytes;
        ways[i].messages =
            (ceiling_messages){.comm = comm, .other = 1 - b->rank, .how = (ceiling_receive)i};
        sides[i] = bench_way(bench_received_names[i], messages_origin, messages_target, &ways[i]);
    }
    return sides[bench_fastest(b, sides, BENCH_STREAM_WAYS)];
}

/* there: a line in the target's memory. back: a line in the origin's memory, and room for a
 * result. */
static void place_flags(const bench *b, way *w, char *there, char *back) {
    enum { LINE = 128 };
    w->flag = (ceiling_flag){(uint64_t *)(void *)there, (uint64_t *)(void *)back, 0};
    w->copy = (ceiling_copy_flag){.flag = w->flag, .bytes = w->bytes};
    w->copy.to = b->rank == BENCH_ORIGIN ? w->result : back + LINE;
    w->copy.from = b->rank == BENCH_ORIGIN ? back + LINE : w->source;
}

/* Peers: the same calls by message. */
static void add_messages(bench_case *c, uint64_t bytes) {
    static const char *const names[HOWS] = {NULL, "tern_call_return by message",
                                            "tern_call_return by a thread without a worker"};
    static way ways[HOWS];
    for (int how = BY_MESSAGE; how < HOWS; how++) {
        ways[how].bytes = bytes;
        ways[how].how = how;
        c->peers[c->peer_count++].side =
            bench_way(names[how], return_origin, return_target, &ways[how]);
    }
}

static void measure(bench *b, uint64_t bytes, MPI_Comm comm) {
    static way ways[BENCH_STREAM_WAYS], w;
    bench_case c = {.name = "call_return", .params = {{"bytes", bytes, NULL}}, .steps = true};
    bench_side messages = fastest_messages(b, ways, bytes, comm);
    void *there = NULL, *back = NULL;
    w.bytes = bytes;
    c.measured = bench_way("tern_call_return", return_origin, return_target, &w);
    if (!b->shared) {
        c.ceiling = messages;
        c.ratio_target = b->same_host ? 0 : 1.3;
        add_messages(&c, bytes);
        bench_measure(b, &c);
        return;
    }
    tern_ptr at_target = bench_place(b, BENCH_TARGET, 4096, &there);
    tern_ptr at_origin = bench_place(b, BENCH_ORIGIN, 4096, &back);
    place_flags(b, &w, there, back);
    c.ceiling = bench_way(bytes == 8 ? "flag round trip" : "flag round trip with a copy",
                          flag_origin, flag_target, &w);
    c.peers[c.peer_count++].side = messages;
    add_messages(&c, bytes);
    if (bytes == 8)
        c.ratio_target = 2;
    bench_measure(b, &c);
    bench_unplace(b, BENCH_ORIGIN, at_origin);
    bench_unplace(b, BENCH_TARGET, at_target);
}

void bench_call_return(bench *b, MPI_Comm comm) {
    static const size_t sizes[] = {8, 64, 256, 1024};
    const bench_sizes sweep = bench_sweep(b, BENCH_SIZES(sizes), BENCH_SIZES(sizes));
    if (!bench_selected(b, "call_return"))
        return;
    for (size_t i = 0; i < sweep.count; i++)
        measure(b, sweep.bytes[i], comm);
}
