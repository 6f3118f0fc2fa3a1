/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tern makes of a network, beside bare libfabric, MPI's messages and bare TCP in the same run,
 * whatever transport tern has taken: operations of one word, one after the other and many at once,
 * and by size (bench_network_sizes.c). The container's operations beside the call and the gets they
 * are made of are in `hash`.
 */

#include "bench_network.h"
#include "ceilings/fabric.h"
#include "ceilings/message.h"
#include "ceilings/tcp.h"
#include "notified.h"

enum { WORD = 8 };

typedef struct network {
    ceiling_fabric *fabric; /* NULL: no libfabric here */
    char names[4][64];      /* of its operations */
    int tcp;                /* -1: not measured */
    notified *notified;
    tern_ptr word; /* at the target */
    uint64_t due;  /* calls that the target is to run in all */
} network;

static void fabric_ask(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_fabric_ask(((network *)state)->fabric, WORD, n);
}

static void fabric_answer(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_fabric_answer(((network *)state)->fabric, WORD, n);
}

static void fabric_write(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_fabric_write(((network *)state)->fabric, WORD, n);
}

static void fabric_read(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_fabric_read(((network *)state)->fabric, WORD, n);
}

static void fabric_stream(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_fabric_stream(((network *)state)->fabric, WORD, n);
}

static void fabric_attend(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)n;
    ceiling_fabric_attend(((network *)state)->fabric);
}

static void messages_ask(bench *b, void *state, uint64_t n) {
    notified_messages_ask(b, ((network *)state)->notified, n);
}

static void messages_answer(bench *b, void *state, uint64_t n) {
    notified_messages_answer(b, ((network *)state)->notified, n);
}

static void tcp_ask(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_tcp_ask(((network *)state)->tcp, n);
}

static void tcp_answer(bench *b, void *state, uint64_t n) {
    (void)b;
    ceiling_tcp_answer(((network *)state)->tcp, n);
}

static void notify_ask(bench *b, void *state, uint64_t n) {
    notified_ask(b, ((network *)state)->notified, n);
}

static void notify_answer(bench *b, void *state, uint64_t n) {
    notified_answer(b, ((network *)state)->notified, n);
}

static void put_flush(bench *b, void *state, uint64_t n) {
    const network *w = state;
    while (n-- > 0) {
        bench_ok(tern_put(b->worker, w->word, &n, WORD), "tern_put");
        bench_ok(tern_flush(b->worker, w->word.rank), "tern_flush");
    }
}

static void get(bench *b, void *state, uint64_t n) {
    const network *w = state;
    uint64_t word;
    while (n-- > 0)
        bench_ok(tern_get(b->worker, &word, w->word, WORD), "tern_get");
}

static void fetch_add(bench *b, void *state, uint64_t n) {
    const network *w = state;
    uint64_t old;
    while (n-- > 0)
        bench_ok(tern_atomic_fetch_add(b->worker, w->word, 1, &old), "tern_atomic_fetch_add");
}

static void put_stream(bench *b, void *state, uint64_t n) {
    const network *w = state;
    while (n-- > 0)
        bench_ok(tern_put(b->worker, w->word, &n, WORD), "tern_put");
    bench_ok(tern_flush(b->worker, w->word.rank), "tern_flush");
}

static uint64_t echoed;

static tern_status echo(tern_call_info *call, const void *arguments, size_t bytes) {
    echoed++;
    memcpy(call->result, arguments, bytes);
    return tern_call_result(call, bytes);
}
TERN_FUNCTION(echo)

static void call_return(bench *b, void *state, uint64_t n) {
    (void)state;
    while (n-- > 0) {
        uint64_t back;
        size_t bytes = 0;
        bench_ok(tern_call_return(b->worker, b->other, &echo_function, &n, sizeof n, &back,
                                  sizeof back, &bytes),
                 "tern_call_return");
        bench_use(back);
    }
}

static void run_calls(bench *b, void *state, uint64_t n) {
    network *w = state;
    for (w->due += n; echoed < w->due;)
        (void)tern_progress(b->worker);
}

/* tern, bare libfabric, MPI's messages and bare TCP: a round trip each, unless it is a stream. */
static void measure(bench *b, network *w, const char *name, bench_side side, int ceiling,
                    double target) {
    static void (*const origin[])(bench *, void *, uint64_t) = {fabric_ask, fabric_write,
                                                                fabric_read, fabric_stream};
    bench_case c = {.name = name,
                    .params = {{"bytes", WORD, NULL}},
                    .unit = ceiling == 3 ? BENCH_RATE : BENCH_TIME,
                    .measured = side,
                    .steps = ceiling == 0, /* the others end the target's part in each call */
                    .ratio_target = w->fabric != NULL && b->transport == TERN_OFI ? target : 0};
    if (w->fabric != NULL)
        c.ceiling = bench_way(w->names[ceiling], origin[ceiling],
                              ceiling == 0 ? fabric_answer : fabric_attend, w);
    if (ceiling != 3)
        c.peers[c.peer_count++].side =
            bench_way("MPI_Send, MPI_Recv", messages_ask, messages_answer, w);
    if (ceiling != 3 && w->tcp >= 0)
        c.peers[c.peer_count++].side = bench_way("bare TCP", tcp_ask, tcp_answer, w);
    bench_measure(b, &c);
}

void bench_network(bench *b) {
    static const char *const operations[] = {"write + poll", "write", "read", "writes"};
    static network w;
    notified s;
    bench_window window = {0};
    const char *provider = NULL;
    MPI_Comm comm;
    bench_mpi(MPI_Comm_dup(b->comm, &comm), "MPI_Comm_dup");
    notified_open(b, &s, b->worker, &window);
    s.bytes = s.cid_bytes = WORD;
    s.messages.how = CEILING_RECEIVE_BLOCKING;
    w = (network){.fabric = ceiling_fabric_open(comm, 1 - b->rank, BENCH_NETWORK_MOST, &provider),
                  .tcp = ceiling_tcp_open(comm, 1 - b->rank),
                  .notified = &s,
                  .word = bench_place(b, BENCH_TARGET, WORD, NULL)};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        snprintf(w.names[i], sizeof w.names[i], "libfabric %s (%s)", operations[i],
                 provider != NULL ? provider : "none");
    if (w.fabric == NULL)
        bench_note(b, "no libfabric here: the figures have no ceiling");
    if (w.tcp < 0)
        bench_note(b,
                   "the ranks do not reach each other over TCP over IPv4: no figures of bare TCP");
    measure(b, &w, "notified", bench_way("tern_put_notify", notify_ask, notify_answer, &w), 0, 1.2);
    measure(b, &w, "put", bench_way("tern_put + tern_flush", put_flush, NULL, &w), 1, 0);
    measure(b, &w, "get", bench_way("tern_get", get, NULL, &w), 2, 0);
    measure(b, &w, "fetch_add", bench_way("tern_atomic_fetch_add", fetch_add, NULL, &w), 2, 0);
    measure(b, &w, "call", bench_way("tern_call_return", call_return, run_calls, &w), 0, 0);
    measure(b, &w, "puts", bench_way("tern_put, one tern_flush", put_stream, NULL, &w), 3, 1 / 0.8);
    bench_network_sizes(b, w.fabric, provider, &s);
    bench_meet(b);
    ceiling_fabric_close(w.fabric);
    ceiling_tcp_close(w.tcp);
    bench_unplace(b, BENCH_TARGET, w.word);
    notified_close(b, &s);
    bench_mpi(MPI_Comm_free(&comm), "MPI_Comm_free");
    bench_network_rates(b);
}
