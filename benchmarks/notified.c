/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "notified.h"

#include <sys/mman.h>

enum { CID_WORD = 8 };

void notified_open(bench *b, notified *s, tern_worker *worker, bench_window *window) {
    void *address[2] = {NULL, NULL};
    tern_ptr place[2];
    *s = (notified){.worker = worker, .other = b->other, .window = window, .cid_bytes = CID_WORD};
    for (int owner = 0; owner < 2; owner++)
        place[owner] = bench_place(b, owner, NOTIFIED_MAX, &address[owner]);
    s->to = place[1 - b->rank];
    s->there = address[1 - b->rank];
    s->mine = place[b->rank];
    s->here = address[b->rank];
    s->local = mmap(NULL, NOTIFIED_MAX, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (s->local == MAP_FAILED)
        bench_fail("mmap", TERN_ERR_MEMORY);
    memset(s->local, 1, NOTIFIED_MAX);
    s->messages = (ceiling_messages){.other = 1 - b->rank, .how = CEILING_RECEIVE_BLOCKING};
    bench_mpi(MPI_Comm_dup(b->comm, &s->messages.comm), "MPI_Comm_dup");
}

void notified_close(bench *b, notified *s) {
    bench_mpi(MPI_Comm_free(&s->messages.comm), "MPI_Comm_free");
    munmap(s->local, NOTIFIED_MAX);
    for (int owner = 0; owner < 2; owner++)
        bench_unplace(b, owner, owner == b->rank ? s->mine : s->to);
}

/* The cid. Its first bytes are the number. */
typedef union cid {
    uint64_t number;
    unsigned char bytes[TERN_CID_MAX];
} cid;

void notified_put(notified *s, uint64_t number, bool local) {
    static cid id;
    tern_status status;
    id.number = number;
    while ((status = tern_put_notify(
                s->worker, s->other, bench_opaque(s->to), s->local, s->bytes,
                &(tern_notify_options){.local_cid = number,
                                       .cid = id.bytes,
                                       .cid_bytes = s->cid_bytes,
                                       .flags = local ? 0 : TERN_NOTIFY_NO_LOCAL})) ==
           TERN_ERR_AGAIN)
        (void)tern_progress(s->worker);
    bench_ok(status, "tern_put_notify");
}

void notified_get(notified *s, uint64_t number) {
    tern_status status;
    while ((status = tern_get_notify(
                s->worker, s->other, s->local, bench_opaque(s->to), s->bytes,
                &(tern_notify_options){
                    .local_cid = number, .cid = &number, .cid_bytes = CID_WORD})) == TERN_ERR_AGAIN)
        (void)tern_progress(s->worker);
    bench_ok(status, "tern_get_notify");
}

static void await(notified *s, unsigned which, tern_event *event) {
    tern_status status;
    while ((status = tern_probe(s->worker, which, event)) == TERN_ERR_EMPTY)
        ;
    bench_ok(status, "tern_probe");
    if (__builtin_expect(event->status != TERN_OK || event->bytes != s->bytes, 0))
        bench_fail("an event is not of the operation", TERN_ERR_SYSTEM);
}

void notified_await(notified *s, unsigned which, uint64_t count) {
    tern_event event;
    while (count-- > 0)
        await(s, which, &event);
}

/* The number comes in the cid and, if there is room, in the data, too. */
static void await_number(notified *s) {
    tern_event event;
    uint64_t number = s->count, word = s->count;
    await(s, TERN_PROBE_REMOTE, &event);
    if (event.cid_bytes >= sizeof number)
        memcpy(&number, event.cid, sizeof number);
    if (s->bytes >= sizeof word)
        memcpy(&word, s->here, sizeof word);
    if (__builtin_expect(event.cid_bytes != s->cid_bytes || number != s->count || word != s->count,
                         0))
        bench_fail("a notified put did not bring what was put", TERN_ERR_SYSTEM);
}

static void put_number(notified *s) {
    memcpy(s->local, &s->count, sizeof s->count);
    notified_put(s, s->count, false);
}

void notified_ask(bench *b, void *state, uint64_t n) {
    notified *s = state;
    (void)b;
    while (n-- > 0) {
        s->count++;
        put_number(s);
        await_number(s);
    }
}

void notified_answer(bench *b, void *state, uint64_t n) {
    notified *s = state;
    (void)b;
    while (n-- > 0) {
        s->count++;
        await_number(s);
        put_number(s);
    }
}

static void count_event(tern_worker *worker, const tern_event *event, const void *cid,
                        void *argument) {
    uint64_t *bytes = argument;
    (void)worker;
    (void)cid;
    *bytes += event->bytes;
}

void notified_target(bench *b, void *state, uint64_t n) {
    notified *s = state;
    uint64_t bytes = 0;
    (void)b;
    for (uint64_t left = n; left > 0;) {
        size_t handled = 0;
        bench_ok(tern_probe_each(s->worker, TERN_PROBE_REMOTE, count_event, &bytes, left, &handled),
                 "tern_probe_each");
        left -= handled;
    }
    if (bytes != n * s->bytes)
        bench_fail("the target did not get what the origin put", TERN_ERR_SYSTEM);
}

static void mpi_put(const notified *s) {
    int bytes = (int)s->bytes, other = (int)s->other.rank;
    bench_mpi(
        MPI_Put(s->window->source, bytes, MPI_BYTE, other, 0, bytes, MPI_BYTE, s->window->win),
        "MPI_Put");
    bench_mpi(MPI_Win_flush(other, s->window->win), "MPI_Win_flush");
}

void notified_mpi_ask(bench *b, void *state, uint64_t n) {
    notified *s = state;
    cid out = {0}, in;
    (void)b;
    while (n-- > 0) {
        mpi_put(s);
        ceiling_messages_ask(&s->messages, out.bytes, s->cid_bytes, in.bytes, s->cid_bytes, 1);
    }
}

void notified_mpi_answer(bench *b, void *state, uint64_t n) {
    notified *s = state;
    cid out = {0}, in;
    (void)b;
    while (n-- > 0) {
        ceiling_messages_receive_one(&s->messages, in.bytes, s->cid_bytes);
        mpi_put(s);
        ceiling_messages_send_one(&s->messages, out.bytes, s->cid_bytes);
    }
}

static size_t message_bytes(const notified *s) {
    size_t bytes = s->bytes + s->cid_bytes;
    return bytes < NOTIFIED_MAX ? bytes : NOTIFIED_MAX;
}

void notified_messages_ask(bench *b, void *state, uint64_t n) {
    notified *s = state;
    (void)b;
    ceiling_messages_ask(&s->messages, s->local, message_bytes(s), s->here, message_bytes(s), n);
}

void notified_messages_answer(bench *b, void *state, uint64_t n) {
    notified *s = state;
    (void)b;
    ceiling_messages_answer(&s->messages, s->here, message_bytes(s), s->local, message_bytes(s), n);
}

ceiling_receive notified_fastest_receive(bench *b, notified *s) {
    notified ways[3];
    bench_side sides[3];
    for (size_t i = 0; i < 3; i++) {
        ways[i] = *s;
        ways[i].messages.how = (ceiling_receive)i;
        sides[i] = bench_way("messages", notified_messages_ask, notified_messages_answer, &ways[i]);
    }
    return (ceiling_receive)bench_fastest(b, sides, 3);
}
