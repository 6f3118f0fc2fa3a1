/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notified transfer. This file has round trips and a stream of small puts; bench_notify_sizes.c has
 * latency and bandwidth by size, bench_notify_flood.c floods of gets, bench_notify_idle.c many idle
 * ranks.
 *
 * With shared memory the ceiling of a round trip is a pair of flags, with the data copied before
 * the flag is raised; the ceiling of a stream is the bare ring. Over rma the ceiling is MPI_Put
 * with a target that polls its own memory, over p2p two-sided messages.
 */

#include "notified.h"
#include "bench_stream.h"

enum { WORD = 8, FLAG_AT = NOTIFIED_MAX, PART = NOTIFIED_MAX + 4096 };

/* Further state of the ceilings of a round trip. */
typedef struct trip {
    ceiling_copy_flag shared;
    ceiling_put_poll put;
    tern_ptr flag[2];
    char name[64];
} trip;

static void flag_ask(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_ask(&((trip *)state)->shared.flag, n);
}

static void flag_answer(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_flag_answer(&((trip *)state)->shared.flag, n);
}

static void copy_flag_ask(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_copy_flag_ask(&((trip *)state)->shared, n);
}

static void copy_flag_answer(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_copy_flag_answer(&((trip *)state)->shared, n);
}

static void put_poll_ask(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_put_poll_ask(&((trip *)state)->put, n);
}

static void put_poll_answer(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_put_poll_answer(&((trip *)state)->put, n);
}

static void open_trip(bench *b, trip *t, notified *s) {
    void *flag[2] = {NULL, NULL};
    for (int owner = 0; owner < 2; owner++)
        t->flag[owner] = bench_place(b, owner, 4096, &flag[owner]);
    t->shared =
        (ceiling_copy_flag){.flag = {.there = flag[BENCH_TARGET], .back = flag[BENCH_ORIGIN]},
                            .to = s->there,
                            .from = s->local};
    t->put = (ceiling_put_poll){.win = s->window->win,
                                .comm = s->messages.comm,
                                .other = 1 - b->rank,
                                .mine = s->window->base,
                                .flag_at = FLAG_AT,
                                .stage = s->window->source,
                                .room = PART};
    if (s->window->bytes > 0)
        memset((char *)s->window->base + FLAG_AT, 0, WORD);
    bench_meet(b);
}

static void close_trip(bench *b, trip *t) {
    for (int owner = 0; owner < 2; owner++)
        bench_unplace(b, owner, t->flag[owner]);
}

static bool packs(const bench *b, size_t bytes) {
    const tern_config *config = tern_context_config(b->context);
    return bytes <= (b->shared ? config->packed_max : config->packed_max_remote);
}

/* The cid has to travel, too: in one piece with the data where tern packs them. */
static bench_side trip_ceiling(bench *b, trip *t, notified *s) {
    if (b->shared) {
        t->shared.bytes = s->bytes;
        return s->bytes <= WORD
                   ? bench_way("flag round trip", flag_ask, flag_answer, t)
                   : bench_way("copy + flag round trip", copy_flag_ask, copy_flag_answer, t);
    }
    if (b->transport == TERN_P2P) {
        s->messages.how = notified_fastest_receive(b, s);
        return bench_way(bench_received_names[s->messages.how], notified_messages_ask,
                         notified_messages_answer, s);
    }
    if (s->window->bytes == 0)
        return bench_way(NULL, NULL, NULL, NULL);
    t->put.bytes = s->bytes + (packs(b, s->bytes) ? s->cid_bytes : 0);
    t->put.apart = !packs(b, s->bytes);
    snprintf(t->name, sizeof t->name, "%s + poll (%s)",
             t->put.apart ? "MPI_Put, flush, MPI_Put" : "MPI_Put", s->window->how);
    return bench_way(t->name, put_poll_ask, put_poll_answer, t);
}

/* Between ranks of one machine messages are copies in shared memory, far faster than any library
 * can be that has to look for more than one message. */
static double trip_target(const bench *b, const notified *s) {
    if (s->bytes != WORD || s->cid_bytes != WORD)
        return 0;
    if (b->shared)
        return 1.35;
    return b->transport == TERN_P2P && b->same_host ? 0 : 1.3;
}

static void ping_pong(bench *b, trip *t, notified *s, size_t bytes, size_t cid_bytes) {
    bench_case c = {.name = "ping_pong",
                    .params = {{"bytes", bytes, NULL}, {"cid", cid_bytes, NULL}},
                    .steps = true};
    if (!bench_selected(b, c.name))
        return;
    s->bytes = bytes;
    s->cid_bytes = cid_bytes;
    s->messages.how = CEILING_RECEIVE_BLOCKING;
    c.measured = bench_way("tern_put_notify", notified_ask, notified_answer, s);
    c.ceiling = trip_ceiling(b, t, s);
    c.ratio_target = c.ceiling.name != NULL ? trip_target(b, s) : 0;
    if (s->window->bytes > 0) {
        bench_peer *peer = &c.peers[c.peer_count++];
        peer->side =
            bench_way("MPI_Put + flush + MPI_Send", notified_mpi_ask, notified_mpi_answer, s);
        peer->at_least = b->shared && bytes == WORD && cid_bytes == WORD ? 4 : 0;
    }
    if (b->transport != TERN_P2P)
        c.peers[c.peer_count++].side =
            bench_way("MPI_Send, MPI_Recv", notified_messages_ask, notified_messages_answer, s);
    bench_measure(b, &c);
}

static void round_trips(bench *b, notified *s) {
    static const size_t cids[] = {2, WORD, 64};
    static const size_t sizes[] = {0,       64,   128,      136,      256,       1 << 10,
                                   4 << 10, 4104, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
    static trip t;
    if (!bench_selected(b, "ping_pong"))
        return;
    open_trip(b, &t, s);
    for (size_t i = 0; i < sizeof cids / sizeof *cids && !b->options.osu; i++)
        ping_pong(b, &t, s, WORD, cids[i]);
    const bench_sizes sweep = bench_sweep(b, BENCH_SIZES(sizes), (bench_sizes){NULL, 0});
    for (size_t i = 0; i < sweep.count; i++)
        ping_pong(b, &t, s, sweep.bytes[i], WORD);
    s->bytes = s->cid_bytes = WORD;
    close_trip(b, &t);
}

/* A stream of puts of 8 bytes with a cid of 8. The bare ring's payload is 8 bytes, without a
 * cid. */

static uint64_t streamed;

static void record(void *argument, const void *payload, size_t bytes) {
    uint64_t word;
    (void)bytes;
    memcpy(&word, payload, sizeof word);
    *(uint64_t *)argument += word;
}

static const ceiling_handler handlers[] = {NULL, record};

static void check_sum(uint64_t n) {
    if (streamed != (n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n))
        bench_fail("the target did not get what the origin sent", TERN_ERR_SYSTEM);
}

static void begin_stream(bench_stream *stream) {
    (void)stream;
    streamed = 0;
}

static void check_stream(const bench_stream *stream, uint64_t n) {
    (void)stream;
    check_sum(n);
}

/* Queued puts need this side's progress. The local event of the last put says that none is left. */
static void stream_origin(bench *b, void *state, uint64_t n) {
    notified *s = state;
    (void)b;
    for (uint64_t i = 1; i <= n; i++) {
        unsigned flags = i < n ? TERN_NOTIFY_NO_LOCAL : 0;
        tern_status status;
        while ((status = tern_put_notify(
                    s->worker, s->other, bench_opaque(s->to), &i, sizeof i,
                    &(tern_notify_options){
                        .local_cid = i, .cid = &i, .cid_bytes = sizeof i, .flags = flags})) ==
               TERN_ERR_AGAIN)
            (void)tern_progress(s->worker);
        bench_ok(status, "tern_put_notify");
    }
    notified_await(s, TERN_PROBE_LOCAL, 1);
}

static void stream_target(bench *b, void *state, uint64_t n) {
    notified *s = state;
    tern_event event;
    (void)b;
    streamed = 0;
    for (uint64_t left = n; left > 0;) {
        uint64_t word;
        tern_status status = tern_probe(s->worker, TERN_PROBE_REMOTE, &event);
        if (status == TERN_ERR_EMPTY)
            continue;
        bench_ok(status, "tern_probe");
        memcpy(&word, event.cid, sizeof word);
        streamed += word;
        left--;
    }
    check_sum(n);
}

static void add_cid(tern_worker *worker, const tern_event *event, const void *cid, void *argument) {
    (void)worker;
    record(argument, cid, event->cid_bytes);
}

static void stream_target_each(bench *b, void *state, uint64_t n) {
    notified *s = state;
    (void)b;
    streamed = 0;
    for (uint64_t left = n; left > 0;) {
        size_t handled = 0;
        bench_ok(tern_probe_each(s->worker, TERN_PROBE_REMOTE, add_cid, &streamed, left, &handled),
                 "tern_probe_each");
        left -= handled;
    }
    check_sum(n);
}

static void streams(bench *b, notified *s) {
    static bench_stream ceiling;
    bench_case c = {.name = "stream",
                    .params = {{"bytes", WORD, NULL}, {"by", 0, "tern_probe"}},
                    .unit = BENCH_RATE,
                    .ratio_target = b->shared ? 1 / 0.4 : 0};
    if (!bench_selected(b, c.name))
        return;
    s->bytes = s->cid_bytes = WORD;
    ceiling = (bench_stream){.bytes = WORD,
                             .function = 1,
                             .handlers = handlers,
                             .argument = &streamed,
                             .begin = begin_stream,
                             .check = check_stream,
                             .comm = s->messages.comm};
    c.ceiling = bench_stream_open(b, &ceiling);
    c.measured = bench_way("tern_put_notify", stream_origin, stream_target, s);
    bench_measure(b, &c);
    c.params[1].text = "tern_probe_each";
    c.measured = bench_way("tern_put_notify", stream_origin, stream_target_each, s);
    bench_measure(b, &c);
    bench_stream_close(b, &ceiling);
}

/* A packed operation costs one put of MPI's over rma, or one message over p2p, and a few more when
 * the ring wraps around or grows. */
static void check_cost(bench *b, notified *s) {
    enum { OPERATIONS = 1000, MORE = OPERATIONS / 50 };
    tern_stats before, after;
    if (b->shared || !bench_selected(b, "cost"))
        return;
    s->bytes = s->cid_bytes = WORD;
    for (int warm = 0; warm < 2; warm++) { /* the first round opens the ring */
        bench_meet(b);
        if (b->rank == BENCH_TARGET) {
            notified_target(b, s, OPERATIONS);
            bench_meet(b);
            continue;
        }
        tern_stats_get(s->worker, &before);
        for (uint64_t i = 0; i < OPERATIONS; i++) {
            notified_put(s, i, i + 1 == OPERATIONS);
            if (i % 16 == 15)
                (void)tern_progress(s->worker);
        }
        notified_await(s, TERN_PROBE_LOCAL, 1);
        bench_meet(b);
        tern_stats_get(s->worker, &after);
    }
    if (b->rank == BENCH_TARGET)
        return;
    bool messages = b->transport == TERN_P2P;
    uint64_t sent = messages ? after.messages_sent - before.messages_sent
                             : after.frames_sent - before.frames_sent;
    uint64_t others = after.puts - before.puts + after.gets - before.gets + after.atomics -
                      before.atomics + after.flushes - before.flushes;
    bench_note(b, "%d packed puts: %llu %s, %llu other operations (flushes: %llu), %llu queued",
               OPERATIONS, (unsigned long long)sent, messages ? "messages" : "puts by MPI",
               (unsigned long long)others, (unsigned long long)(after.flushes - before.flushes),
               (unsigned long long)(after.notices_queued - before.notices_queued));
    if (sent > OPERATIONS + MORE || others > MORE)
        bench_fail("a packed put took more than one put or message", TERN_ERR_SYSTEM);
}

void bench_notify(bench *b) {
    notified s;
    bench_window window;
    bench_window_open(b, &window, PART);
    notified_open(b, &s, b->worker, &window);
    check_cost(b, &s);
    round_trips(b, &s);
    streams(b, &s);
    bench_notify_sizes(b, &s);
    bench_notify_flood(b, &s);
    notified_close(b, &s);
    bench_window_close(b, &window);
    bench_notify_idle_rings(b);
    bench_notify_idle(b);
}
