/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Latency and bandwidth of notified puts and gets by size, measured as Photon's authors do (paper
 * 001): for latency a loop posts one operation and waits for its local event; for bandwidth all
 * operations of a block are posted before the first probe. The target probes all the time, and a
 * block ends when it has had the last remote event. All operations use one place, so that memory
 * has no influence.
 */

#include "notified.h"

enum { CID = 8, IN_FLIGHT = 64, FLOOD_MOST = 32768, UNFLUSHED = 1024, LARGE = 64 << 10 };

/* Post, then wait. state is a notified. */

static void put_one(bench *b, void *state, uint64_t n) {
    (void)b;
    for (uint64_t i = 0; i < n; i++) {
        notified_put(state, i, true);
        notified_await(state, TERN_PROBE_LOCAL, 1);
    }
}

static void get_one(bench *b, void *state, uint64_t n) {
    (void)b;
    for (uint64_t i = 0; i < n; i++) {
        notified_get(state, i);
        notified_await(state, TERN_PROBE_LOCAL, 1);
    }
}

static void plain_put_one(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    while (n-- > 0) {
        bench_ok(tern_put(s->worker, bench_opaque(s->to), s->local, s->bytes), "tern_put");
        bench_ok(tern_flush(s->worker, s->to.rank), "tern_flush");
    }
}

static void plain_get(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    while (n-- > 0) {
        bench_ok(tern_get(s->worker, s->local, bench_opaque(s->to), s->bytes), "tern_get");
        __asm__ volatile("" : : : "memory");
    }
}

/* Post all, then wait. */

static void put_all(bench *b, void *state, uint64_t n) {
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        notified_put(state, i, true);
    notified_await(state, TERN_PROBE_LOCAL, n);
}

static void get_all(bench *b, void *state, uint64_t n) {
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        notified_get(state, i);
    notified_await(state, TERN_PROBE_LOCAL, n);
}

static void plain_put_all(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    while (n-- > 0) {
        bench_ok(tern_put(s->worker, bench_opaque(s->to), s->local, s->bytes), "tern_put");
        __asm__ volatile("" : : : "memory");
    }
    bench_ok(tern_flush(s->worker, s->to.rank), "tern_flush");
}

/* The processor copies the same bytes. */

static void copy_there(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    ceiling_copy(s->there, s->local, s->bytes, n);
}

static void copy_back(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    ceiling_copy(s->local, s->there, s->bytes, n);
}

/* Plain MPI. Flushes limit the number of operations under way, since some MPIs keep all of them. */

static void start(const notified *s, bool put) {
    int bytes = (int)s->bytes, other = (int)s->other.rank;
    void *source = s->window->source;
    MPI_Win win = s->window->win;
    if (put)
        bench_mpi(MPI_Put(source, bytes, MPI_BYTE, other, 0, bytes, MPI_BYTE, win), "MPI_Put");
    else
        bench_mpi(MPI_Get(source, bytes, MPI_BYTE, other, 0, bytes, MPI_BYTE, win), "MPI_Get");
}

static void flush(const notified *s) {
    bench_mpi(MPI_Win_flush((int)s->other.rank, s->window->win), "MPI_Win_flush");
}

static void start_all(const notified *s, bool put, uint64_t n) {
    for (uint64_t i = 1; i <= n; i++) {
        start(s, put);
        if (i % UNFLUSHED == 0 || i == n)
            flush(s);
    }
}

static void tell(const notified *s, uint64_t n) {
    uint64_t cid = 0;
    while (n-- > 0)
        ceiling_messages_send_one(&s->messages, &cid, sizeof cid);
}

static void mpi_put_one(bench *b, void *state, uint64_t n) {
    (void)b;
    while (n-- > 0) {
        start(state, true);
        flush(state);
    }
}

static void mpi_get_one(bench *b, void *state, uint64_t n) {
    (void)b;
    while (n-- > 0) {
        start(state, false);
        flush(state);
    }
}

static void mpi_put_tell_one(bench *b, void *state, uint64_t n) {
    while (n-- > 0) {
        mpi_put_one(b, state, 1);
        tell(state, 1);
    }
}

static void mpi_get_tell_one(bench *b, void *state, uint64_t n) {
    while (n-- > 0) {
        mpi_get_one(b, state, 1);
        tell(state, 1);
    }
}

static void mpi_put_all(bench *b, void *state, uint64_t n) {
    (void)b;
    start_all(state, true, n);
}

static void mpi_get_all(bench *b, void *state, uint64_t n) {
    (void)b;
    start_all(state, false, n);
}

static void mpi_put_tell_all(bench *b, void *state, uint64_t n) {
    (void)b;
    start_all(state, true, n);
    tell(state, n);
}

static void mpi_get_tell_all(bench *b, void *state, uint64_t n) {
    (void)b;
    start_all(state, false, n);
    tell(state, n);
}

static void told(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    uint64_t cid;
    (void)b;
    while (n-- > 0)
        ceiling_messages_receive_one(&s->messages, &cid, sizeof cid);
}

/* Messages with the data, one way. */

static void send_one(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    while (n-- > 0)
        ceiling_messages_send_one(&s->messages, s->local, s->bytes);
}

static void receive_one(bench *b, void *state, uint64_t n) {
    const notified *s = state;
    (void)b;
    while (n-- > 0)
        ceiling_messages_receive_one(&s->messages, s->here, s->bytes);
}

/* Moves them in groups of a size that suits all MPIs. */
static void move_all(const notified *s, bool send, uint64_t n) {
    MPI_Request requests[IN_FLIGHT];
    MPI_Status statuses[IN_FLIGHT];
    int bytes = (int)s->bytes, other = s->messages.other;
    for (uint64_t left = n; left > 0;) {
        int count = left < IN_FLIGHT ? (int)left : IN_FLIGHT;
        for (int i = 0; i < count; i++)
            bench_mpi(
                send
                    ? MPI_Isend(s->local, bytes, MPI_BYTE, other, 1, s->messages.comm, &requests[i])
                    : MPI_Irecv(s->here, bytes, MPI_BYTE, other, 1, s->messages.comm, &requests[i]),
                "a message");
        bench_mpi(MPI_Waitall(count, requests, statuses), "MPI_Waitall");
        left -= (uint64_t)count;
    }
}

static void send_all(bench *b, void *state, uint64_t n) {
    (void)b;
    move_all(state, true, n);
}

static void receive_all(bench *b, void *state, uint64_t n) {
    (void)b;
    move_all(state, false, n);
}

/* A message asks, and another brings the data back. */
static void ask(bench *b, void *state, uint64_t n) {
    notified *s = state;
    uint64_t question = 0;
    (void)b;
    ceiling_messages_ask(&s->messages, &question, sizeof question, s->local, s->bytes, n);
}

static void answer(bench *b, void *state, uint64_t n) {
    notified *s = state;
    uint64_t question;
    (void)b;
    ceiling_messages_answer(&s->messages, &question, sizeof question, s->here, s->bytes, n);
}

/* One kind of operation in one of the two manners. */
typedef struct manner {
    const char *name;
    bool put, all;
    void (*tern)(bench *, void *, uint64_t);
    void (*plain)(bench *, void *, uint64_t);
    const char *plain_name;
    void (*copy)(bench *, void *, uint64_t);
    void (*mpi)(bench *, void *, uint64_t);
    void (*mpi_tell)(bench *, void *, uint64_t);
    void (*send)(bench *, void *, uint64_t);
    void (*receive)(bench *, void *, uint64_t);
    const char *send_name;
} manner;

static const manner manners[] = {
    {"put_latency", true, false, put_one, plain_put_one, "tern_put + tern_flush", copy_there,
     mpi_put_one, mpi_put_tell_one, send_one, receive_one, "MPI_Send, MPI_Recv"},
    {"get_latency", false, false, get_one, plain_get, "tern_get", copy_back, mpi_get_one,
     mpi_get_tell_one, ask, answer, "MPI_Send, MPI_Recv and back"},
    {"put_bandwidth", true, true, put_all, plain_put_all, "tern_put, one tern_flush", copy_there,
     mpi_put_all, mpi_put_tell_all, send_all, receive_all, "MPI_Isend, MPI_Irecv"},
    {"get_bandwidth", false, true, get_all, plain_get, "tern_get", copy_back, mpi_get_all,
     mpi_get_tell_all, ask, answer, "MPI_Send, MPI_Recv and back"},
};

static void add_peer(bench_case *c, notified *s, const char *name,
                     void (*origin)(bench *, void *, uint64_t),
                     void (*target)(bench *, void *, uint64_t), uint64_t most) {
    bench_side side = bench_way(name, origin, target, s);
    side.most = most;
    c->peers[c->peer_count++].side = side;
}

/* Measures a manner. Where the operation of the transport below tern is the same, it is the
 * ceiling; otherwise a peer. */
static void measure(bench *b, const manner *m, notified *s) {
    const tern_config *config = tern_context_config(b->context);
    const char *mpi_name = bench_window_name(s->window, m->put ? "MPI_Put" : "MPI_Get");
    bool window = s->window->bytes > 0;
    bench_case c = {.name = m->name,
                    .params = {{"bytes", s->bytes, NULL}},
                    .unit = m->all ? BENCH_BANDWIDTH : BENCH_TIME,
                    .bytes = s->bytes};
    uint64_t most = NOTIFIED_LOOPS;
    if (m->all)
        most = config->notify_events < FLOOD_MOST ? config->notify_events : FLOOD_MOST;
    c.measured =
        bench_way(m->put ? "tern_put_notify" : "tern_get_notify", m->tern, notified_target, s);
    c.measured.most = most;
    if (b->shared) {
        c.ceiling = bench_way(s->bytes <= CEILING_COPY_INLINE ? "copy in line" : "memcpy", m->copy,
                              NULL, s);
        c.ratio_target = m->all && s->bytes >= LARGE ? 1 / 0.9 : 0;
    } else if (b->transport == TERN_RMA && window) {
        c.ceiling = bench_way(mpi_name, m->mpi, NULL, s);
    } else if (b->transport == TERN_P2P) {
        c.ceiling = bench_way(m->send_name, m->send, m->receive, s);
    }
    c.ceiling.most = most;
    add_peer(&c, s, m->plain_name, m->plain, NULL, most);
    if (window && b->transport != TERN_RMA)
        add_peer(&c, s, mpi_name, m->mpi, NULL, most);
    if (window)
        add_peer(&c, s, m->put ? "MPI_Put + flush + MPI_Send" : "MPI_Get + flush + MPI_Send",
                 m->mpi_tell, told, most);
    if (b->transport != TERN_P2P)
        add_peer(&c, s, m->send_name, m->send, m->receive, most);
    bench_measure(b, &c);
}

static unsigned char pattern(const notified *s, size_t i, int turn) {
    return (unsigned char)(i * 7 + s->bytes % 251 + (size_t)turn);
}

static void check(const notified *s, const unsigned char *data, int turn) {
    for (size_t i = 0; i < s->bytes; i++)
        if (data[i] != pattern(s, i, turn))
            bench_fail("a notified operation did not bring the data as it was", TERN_ERR_SYSTEM);
}

static void fill(const notified *s, unsigned char *data, int turn) {
    for (size_t i = 0; i < s->bytes; i++)
        data[i] = pattern(s, i, turn);
}

/* Compares byte for byte, there and back; both ranks. */
static void verify(bench *b, notified *s) {
    if (b->rank == BENCH_TARGET) {
        notified_await(s, TERN_PROBE_REMOTE, 1);
        check(s, s->here, 0);
        fill(s, s->here, 1);
        bench_meet(b);
        notified_await(s, TERN_PROBE_REMOTE, 1);
    } else {
        fill(s, (unsigned char *)s->local, 0);
        notified_put(s, 0, true);
        notified_await(s, TERN_PROBE_LOCAL, 1);
        bench_meet(b);
        notified_get(s, 0);
        notified_await(s, TERN_PROBE_LOCAL, 1);
        check(s, (const unsigned char *)s->local, 1);
    }
    bench_meet(b);
}

void bench_notify_sizes(bench *b, notified *s) {
    static const size_t all[] = {1,       8,    64,       128,      136,       256,     1 << 10,
                                 4 << 10, 4104, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    static const size_t few[] = {8, 128, 136, 4 << 10, 4104, 64 << 10, 1 << 20};
    const bench_sizes sweep = bench_sweep(b, BENCH_SIZES(all), BENCH_SIZES(few));
    s->cid_bytes = CID;
    s->messages.how = CEILING_RECEIVE_BLOCKING;
    for (size_t m = 0; m < sizeof manners / sizeof *manners; m++) {
        if (!bench_selected(b, manners[m].name))
            continue;
        for (size_t i = 0; i < sweep.count; i++) {
            s->bytes = sweep.bytes[i];
            measure(b, &manners[m], s);
            verify(b, s);
        }
    }
}
