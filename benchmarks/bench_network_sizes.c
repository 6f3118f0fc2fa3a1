/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tern makes of a network by size: notified puts there and back, and streams of puts with one
 * flush, beside bare libfabric and MPI's messages.
 */

#include "bench_network.h"

enum { IN_FLIGHT = 64 };

typedef struct sizes {
    ceiling_fabric *fabric;
    notified *notified;
    size_t bytes;
} sizes;

static void fabric_ask(bench *b, void *state, uint64_t n) {
    const sizes *w = state;
    (void)b;
    ceiling_fabric_ask(w->fabric, w->bytes, n);
}

static void fabric_answer(bench *b, void *state, uint64_t n) {
    const sizes *w = state;
    (void)b;
    ceiling_fabric_answer(w->fabric, w->bytes, n);
}

static void fabric_stream(bench *b, void *state, uint64_t n) {
    const sizes *w = state;
    (void)b;
    ceiling_fabric_stream(w->fabric, w->bytes, n);
}

static void fabric_attend(bench *b, void *state, uint64_t n) {
    (void)b;
    (void)n;
    ceiling_fabric_attend(((sizes *)state)->fabric);
}

static void notify_ask(bench *b, void *state, uint64_t n) {
    notified_ask(b, ((sizes *)state)->notified, n);
}

static void notify_answer(bench *b, void *state, uint64_t n) {
    notified_answer(b, ((sizes *)state)->notified, n);
}

static void messages_ask(bench *b, void *state, uint64_t n) {
    notified_messages_ask(b, ((sizes *)state)->notified, n);
}

static void messages_answer(bench *b, void *state, uint64_t n) {
    notified_messages_answer(b, ((sizes *)state)->notified, n);
}

static void put_stream(bench *b, void *state, uint64_t n) {
    const sizes *w = state;
    const notified *s = w->notified;
    while (n-- > 0)
        bench_ok(tern_put(b->worker, bench_opaque(s->to), s->local, w->bytes), "tern_put");
    bench_ok(tern_flush(b->worker, s->to.rank), "tern_flush");
}

/* Messages of the size, many under way; an empty one comes back when all have arrived. */
static void send_stream(bench *b, void *state, uint64_t n) {
    const sizes *w = state;
    const ceiling_messages *m = &w->notified->messages;
    MPI_Request requests[IN_FLIGHT];
    MPI_Status statuses[IN_FLIGHT];
    uint64_t started = 0;
    (void)b;
    for (; started < n; started++) {
        const uint64_t slot = started % IN_FLIGHT;
        if (started >= IN_FLIGHT)
            MPI_Wait(&requests[slot], &statuses[slot]);
        MPI_Isend(w->notified->local, (int)w->bytes, MPI_BYTE, m->other, 0, m->comm,
                  &requests[slot]);
    }
    MPI_Waitall((int)(n < IN_FLIGHT ? n : IN_FLIGHT), requests, statuses);
    MPI_Recv(NULL, 0, MPI_BYTE, m->other, 0, m->comm, &statuses[0]);
}

static void receive_stream(bench *b, void *state, uint64_t n) {
    const sizes *w = state;
    const ceiling_messages *m = &w->notified->messages;
    MPI_Status status;
    (void)b;
    while (n-- > 0)
        MPI_Recv(w->notified->here, (int)w->bytes, MPI_BYTE, m->other, 0, m->comm, &status);
    MPI_Send(NULL, 0, MPI_BYTE, m->other, 0, m->comm);
}

void bench_network_sizes(bench *b, ceiling_fabric *fabric, const char *provider, notified *s) {
    static const size_t all[] = {8,       64,      512,     2048,    4096,
                                 1 << 13, 1 << 14, 1 << 16, 1 << 18, BENCH_NETWORK_MOST};
    static const size_t few[] = {8, 4096, 1 << 16};
    static sizes w;
    char names[2][64];
    const bench_sizes sweep = bench_sweep(b, BENCH_SIZES(all), BENCH_SIZES(few));
    const bool over_ofi = fabric != NULL && b->transport == TERN_OFI;
    snprintf(names[0], sizeof names[0], "libfabric write + poll (%s)", provider);
    snprintf(names[1], sizeof names[1], "libfabric writes (%s)", provider);
    for (size_t i = 0; i < 2 * sweep.count; i++) {
        const bool streams = i >= sweep.count;
        const size_t bytes = sweep.bytes[i % sweep.count];
        w = (sizes){fabric, s, bytes};
        s->bytes = bytes;
        bench_case c = {.name = streams ? "puts_sizes" : "notified_sizes",
                        .params = {{"bytes", bytes, NULL}},
                        .unit = streams ? BENCH_BANDWIDTH : BENCH_TIME,
                        .bytes = bytes};
        if (streams) {
            c.measured = bench_way("tern_put, one tern_flush", put_stream, NULL, &w);
            c.peers[0].side = bench_way("MPI_Isend, MPI_Recv", send_stream, receive_stream, &w);
        } else {
            c.measured = bench_way("tern_put_notify", notify_ask, notify_answer, &w);
            c.peers[0].side = bench_way("MPI_Send, MPI_Recv", messages_ask, messages_answer, &w);
        }
        c.peer_count = 1;
        if (fabric != NULL)
            c.ceiling = streams ? bench_way(names[1], fabric_stream, fabric_attend, &w)
                                : bench_way(names[0], fabric_ask, fabric_answer, &w);
        if (over_ofi && streams && bytes == 1 << 16)
            c.ratio_target = 1 / 0.9;
        if (over_ofi && !streams)
            c.ratio_target = 1.2;
        bench_measure(b, &c);
    }
    s->bytes = s->cid_bytes;
}
