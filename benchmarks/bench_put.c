/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Streams of puts (paper 000, figure 2): 128 Ki messages one way, three runs. Each message is made
 * in private memory, and goes to the next of some places of the target. tern_circular_put is
 * measured, which lets tern manage buffers and waits. Beside it stand the same done by hand, and
 * the best that MPI or the processor can do. Where the program makes messages in slots of its own
 * and waits once all are used, it has the number of slots with which the bare stream is fastest.
 */

#include "bench.h"
#include "window.h"
#include "ceilings/ceilings.h"
#include "ceilings/put_stream.h"

#include <stdlib.h>

enum { BYTES_MAX = 64 << 10, MEMORY = 1 << 20, SLOT_COUNTS = 4 };

static const uint64_t slot_counts[SLOT_COUNTS] = {16, 32, 64, CEILING_STREAM_SLOTS};

typedef struct stream {
    tern_ptr places;
    char *address;       /* of the places, if load and store reach them */
    uint64_t *source;    /* BYTES_MAX bytes */
    char *slots;         /* MEMORY bytes */
    uint64_t slot_count; /* of slots that are used */
    uint64_t count;      /* of places */
    size_t bytes;
    tern_circular *circular;
    bench_window window;
    MPI_Comm comm;
    ceiling_put_stream bare[SLOT_COUNTS];
    char name[64]; /* of the fastest shape */
} stream;

static tern_ptr place(const stream *s, uint64_t slot) {
    return bench_opaque(tern_ptr_add(s->places, (int64_t)(slot * s->bytes)));
}

static uint64_t after(const stream *s, uint64_t slot) { return slot + 1 < s->count ? slot + 1 : 0; }

static void flush(bench *b) { bench_ok(tern_flush(b->worker, b->other.rank), "tern_flush"); }

static void automatic(bench *b, void *state, uint64_t n) {
    const stream *s = state;
    uint64_t slot = 0;
    for (uint64_t i = 0; i < n; i++, slot = after(s, slot)) {
        *s->source = i;
        bench_ok(tern_circular_put(b->worker, s->circular, place(s, slot), s->source, s->bytes),
                 "tern_circular_put");
    }
    flush(b);
}

/* The message is made in the piece that is sent. */
static void pieces(bench *b, void *state, uint64_t n) {
    const stream *s = state;
    uint64_t slot = 0;
    for (uint64_t i = 0; i < n; i++, slot = after(s, slot)) {
        tern_piece piece;
        bench_ok(tern_piece_take(b->worker, s->circular, s->bytes, &piece), "tern_piece_take");
        *s->source = i;
        memcpy(piece.memory, s->source, s->bytes);
        bench_ok(tern_piece_put(b->worker, s->circular, &piece, place(s, slot), s->bytes),
                 "tern_piece_put");
    }
    flush(b);
}

static void put_and_flush(bench *b, void *state, uint64_t n) {
    const stream *s = state;
    uint64_t slot = 0;
    for (uint64_t i = 0; i < n; i++, slot = after(s, slot)) {
        *s->source = i;
        bench_ok(tern_put(b->worker, place(s, slot), s->source, s->bytes), "tern_put");
        if (i % s->slot_count == s->slot_count - 1)
            flush(b);
    }
    flush(b);
}

static void put_nb_and_wait(bench *b, void *state, uint64_t n) {
    const stream *s = state;
    tern_request requests[CEILING_STREAM_SLOTS] = {0};
    uint64_t slot = 0, at = 0;
    for (uint64_t i = 0; i < n; i++, at = after(s, at)) {
        char *made = s->slots + slot * s->bytes;
        *s->source = i;
        memcpy(made, s->source, s->bytes);
        bench_ok(tern_put_start(b->worker, place(s, at), made, s->bytes, &requests[slot]),
                 "tern_put_start");
        slot++;
        if (slot == s->slot_count || i + 1 == n) {
            bench_ok(tern_wait_all(b->worker, requests, slot), "tern_wait_all");
            slot = 0;
        }
    }
    flush(b);
}

static void bare_copy(bench *b, void *state, uint64_t n) {
    const stream *s = state;
    (void)b;
    ceiling_copy_stream(s->address, s->count, s->source, s->bytes, n);
}

static void bare_put(bench *b, void *bare, uint64_t n) {
    (void)b;
    ceiling_put_stream_put(bare, n);
}

static void bare_send(bench *b, void *bare, uint64_t n) {
    (void)b;
    ceiling_put_stream_send(bare, n);
}

static void bare_receive(bench *b, void *bare, uint64_t n) {
    (void)b;
    ceiling_put_stream_receive(bare, n);
}

/* Checks that the last message for each place is there. */
static void verify(bench *b, stream *s, void (*way)(bench *, void *, uint64_t)) {
    uint64_t n = s->count * 3 + 5;
    if (b->rank == BENCH_ORIGIN) {
        for (size_t i = 8; i < s->bytes; i++)
            ((unsigned char *)s->source)[i] = (unsigned char)(i * 7 + s->bytes / 8);
        way(b, s, n);
    }
    bench_meet(b);
    const unsigned char *at = tern_local(b->context, s->places);
    for (uint64_t slot = 0; b->rank == BENCH_TARGET && slot < s->count; slot++) {
        uint64_t number, last = (slot < 5 ? 3 : 2) * s->count + slot;
        memcpy(&number, at + slot * s->bytes, 8);
        bool right = number == last;
        for (size_t i = 8; i < s->bytes; i++)
            right = right && at[slot * s->bytes + i] == (unsigned char)(i * 7 + s->bytes / 8);
        if (!right)
            bench_fail("a stream of puts did not arrive as it was", TERN_ERR_SYSTEM);
    }
    if (b->rank == BENCH_TARGET)
        memset(tern_local(b->context, s->places), 0, s->count * s->bytes);
    bench_meet(b);
}

static void add_peer(bench_case *c, const char *name, void (*origin)(bench *, void *, uint64_t),
                     stream *s) {
    c->peers[c->peer_count++].side = bench_way(name, origin, NULL, s);
}

/* MPI's own operation, with the fastest of several numbers of slots. */
static bench_side remote_ceiling(bench *b, stream *s) {
    bool rma = b->transport == TERN_RMA;
    bench_side sides[SLOT_COUNTS];
    size_t count = 0;
    if (rma && s->window.bytes == 0)
        return bench_way(NULL, NULL, NULL, NULL);
    for (; count < SLOT_COUNTS && slot_counts[count] <= s->count; count++) {
        s->bare[count] = (ceiling_put_stream){.win = s->window.win,
                                              .comm = s->comm,
                                              .other = 1 - b->rank,
                                              .source = s->source,
                                              .slots = s->slots,
                                              .slot_count = slot_counts[count],
                                              .places = s->count,
                                              .bytes = s->bytes};
        sides[count] = rma ? bench_way(s->name, bare_put, NULL, &s->bare[count])
                           : bench_way(s->name, bare_send, bare_receive, &s->bare[count]);
    }
    size_t best = bench_fastest(b, sides, count);
    s->slot_count = slot_counts[best];
    snprintf(s->name, sizeof s->name, "%s (%llu slots)", rma ? "MPI_Put" : "MPI_Isend",
             (unsigned long long)s->slot_count);
    return sides[best];
}

static bench_side ceiling(bench *b, stream *s) {
    if (!b->shared)
        return remote_ceiling(b, s);
    return bench_way(s->bytes <= CEILING_COPY_INLINE ? "copy in line" : "memcpy", bare_copy, NULL,
                     s);
}

static void size(bench *b, stream *s, size_t bytes) {
    s->bytes = bytes;
    s->count = MEMORY / bytes < CEILING_STREAM_SLOTS ? MEMORY / bytes : CEILING_STREAM_SLOTS;
    s->slot_count = s->count;
    tern_circular_options options = {.unit_bytes = bytes};
    if (b->rank == BENCH_ORIGIN)
        bench_ok(tern_circular_create(b->worker, &options, &s->circular), "tern_circular_create");
    bench_case c = {.name = "stream",
                    .params = {{"bytes", bytes, NULL}},
                    .unit = BENCH_RATE,
                    .operations = (b->options.quick ? 8u : 128u) << 10,
                    .runs = 3};
    c.measured = bench_way("tern_circular_put", automatic, NULL, s);
    c.ceiling = ceiling(b, s);
    add_peer(&c, "tern_piece_take, tern_piece_put", pieces, s);
    add_peer(&c, "tern_put, tern_flush by hand", put_and_flush, s);
    if (!b->shared)
        add_peer(&c, "tern_put_start, tern_wait_all by hand", put_nb_and_wait, s);
    bench_measure(b, &c);
    verify(b, s, automatic);
    verify(b, s, pieces);
    verify(b, s, put_and_flush);
    verify(b, s, put_nb_and_wait);
    if (b->rank == BENCH_ORIGIN)
        bench_ok(tern_circular_destroy(b->worker, s->circular), "tern_circular_destroy");
}

void bench_put(bench *b) {
    stream s = {.bytes = 0};
    void *address;
    s.places = bench_place(b, BENCH_TARGET, MEMORY, &address);
    s.address = address;
    s.source = aligned_alloc(64, BYTES_MAX);
    s.slots = aligned_alloc(4096, MEMORY);
    if (s.source == NULL || s.slots == NULL)
        bench_fail("aligned_alloc", TERN_ERR_MEMORY);
    memset(s.source, 1, BYTES_MAX);
    memset(s.slots, 1, MEMORY);
    if (b->transport == TERN_RMA)
        bench_window_open(b, &s.window, MEMORY);
    bench_mpi(MPI_Comm_dup(b->comm, &s.comm), "MPI_Comm_dup");
    for (size_t bytes = 8; bytes <= BYTES_MAX; bytes *= b->options.quick ? 8 : 2)
        size(b, &s, bytes);
    MPI_Comm_free(&s.comm);
    bench_window_close(b, &s.window);
    free(s.slots);
    free(s.source);
    bench_unplace(b, BENCH_TARGET, s.places);
}
