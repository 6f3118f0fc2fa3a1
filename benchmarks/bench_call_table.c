/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The paper's table 2 (paper 000, 5.2): the rate of one-way calls by size of arguments and by the
 * way they are sent. A run is 65 million calls, and there are three runs. With shared memory the
 * calls stand beside a bare ring, published in the same way, and beside the bare bytes in the same
 * segments; otherwise beside MPI's messages.
 */

#include "bench_call.h"

enum { RING, BATCH, COPY, RAWS, SEND = TERN_PUBLISH_SPILL + 1, WAYS, SIZES = 3, COPY_SIZES = 3 };

static const uint64_t sizes[SIZES] = {8, 64, 256};
static const char *const way_names[WAYS] = {"write", "batched", "spill", "send"};
static const char *const raw_names[RAWS] = {"ring", "ring 4K", "memcpy"};

/* Calls of so many bytes, sent in one way. */
typedef struct way {
    uint64_t bytes;
    unsigned how; /* a policy, or SEND */
    uint64_t payload[BENCH_CALL_MAX / 8];
} way;

/* ns of a call, at the origin; 0: not measured. */
typedef struct table {
    double call[WAYS][SIZES], raw[RAWS][SIZES];
} table;

/* Sets the policy of the block, since peers use other policies. */
static void prepare(bench *b, void *state, uint64_t n) {
    const way *w = state;
    (void)n;
    if (w->how != SEND)
        bench_ok(tern_call_policy(b->worker, b->other, (tern_publish)w->how, 0),
                 "tern_call_policy");
}

static void call_origin(bench *b, void *state, uint64_t n) {
    way *w = state;
    if (w->how == SEND)
        bench_call_messages(b, b->other, w->payload, w->bytes, n);
    else
        bench_call_stream(b, b->other, w->payload, w->bytes, n);
}

static void call_target(bench *b, void *state, uint64_t n) {
    const way *w = state;
    bench_sunk_begin();
    bench_call_await(b, n);
    bench_sunk_check(n, bench_sunk_expected(w->bytes, n));
}

static bench_side side_of(way *w, const char *name) {
    bench_side side = bench_way(name, call_origin, call_target, w);
    side.prepare = prepare;
    return side;
}

/* The bare bytes, in rings of several sizes. */

typedef struct bare_bytes {
    ceiling_copy_ring rings[COPY_SIZES];
    uint64_t payload[BENCH_CALL_MAX / 8];
    tern_ptr data, positions;
} bare_bytes;

typedef struct bare_ring {
    ceiling_copy_ring *ring;
    uint64_t *payload;
} bare_ring;

static void copy_origin(bench *b, void *state, uint64_t n) {
    const bare_ring *bare = state;
    (void)b;
    ceiling_copy_ring_produce(bare->ring, bare->payload, n);
}

static void copy_target(bench *b, void *state, uint64_t n) {
    const bare_ring *bare = state;
    (void)b;
    bench_sunk = (bench_sink){n, ceiling_copy_ring_consume(bare->ring, n)};
    bench_sunk_check(n, bench_sunk_expected(bare->ring->payload, n));
}

static bench_side open_copy(bench *b, bare_bytes *bare, uint64_t bytes) {
    static const uint64_t rings[COPY_SIZES] = {128 << 10, 512 << 10, 1 << 20};
    static bare_ring shapes[COPY_SIZES];
    static char name[48];
    bench_side sides[COPY_SIZES];
    void *data, *positions;
    bare->data = bench_place(b, BENCH_TARGET, 2 << 20, &data);
    bare->positions = bench_place(b, BENCH_TARGET, 4096, &positions);
    bench_call_fill(bare->payload);
    char *at = data, *position = positions;
    for (size_t i = 0; i < COPY_SIZES; i++, position += 256) {
        ceiling_copy_ring_make(&bare->rings[i], at, (uint64_t *)(void *)position,
                               (uint64_t *)(void *)(position + 128), rings[i], bytes);
        at += rings[i];
        shapes[i] = (bare_ring){&bare->rings[i], bare->payload};
        sides[i] = bench_way(name, copy_origin, copy_target, &shapes[i]);
    }
    size_t best = bench_fastest(b, sides, COPY_SIZES);
    snprintf(name, sizeof name, "memcpy (%u KiB)", (unsigned)(rings[best] >> 10));
    return sides[best];
}

static void close_copy(bench *b, bare_bytes *bare) {
    bench_unplace(b, BENCH_TARGET, bare->positions);
    bench_unplace(b, BENCH_TARGET, bare->data);
}

/* The ceilings and peers of one size. */
typedef struct beside {
    bench_stream ring, batch, messages;
    bare_bytes copy;
    bench_side raw[RAWS];
    bench_side message;
} beside;

static void open_beside(bench *b, beside *s, uint64_t bytes, MPI_Comm comm) {
    bench_call_ceiling(&s->ring, bytes, 0, comm);
    bench_call_ceiling(&s->batch, bytes, 4096, comm);
    bench_call_ceiling(&s->messages, bytes, 0, comm);
    s->messages.messages = true;
    s->message = bench_stream_open(b, &s->messages);
    if (!b->shared)
        return;
    s->raw[RING] = bench_stream_open(b, &s->ring);
    s->raw[BATCH] = bench_stream_open(b, &s->batch);
    s->raw[COPY] = open_copy(b, &s->copy, bytes);
}

static void close_beside(bench *b, beside *s) {
    bench_stream_close(b, &s->messages);
    if (!b->shared)
        return;
    close_copy(b, &s->copy);
    bench_stream_close(b, &s->batch);
    bench_stream_close(b, &s->ring);
}

static double median(const double *ns, size_t pairs) {
    while (pairs > 0 && ns[pairs - 1] < 0) /* peers take part in the first pairs only */
        pairs--;
    return bench_median(ns, pairs);
}

/* Number of calls of a run: over shared memory the paper's, elsewhere fewer, since a call takes
 * longer. */
static uint64_t messages_of(const bench *b, unsigned how) {
    if (b->options.messages > 0)
        return b->options.messages;
    if (b->options.quick)
        return b->shared && how != SEND ? 2000000 : 20000;
    return !b->shared ? 1000000 : how == SEND ? 6500000 : 65000000;
}

/* The targets hold for shared memory: 0.8 of the bare ring, and spill within a tenth of write. */
static void measure(bench *b, unsigned how, size_t size, beside *s, table *t) {
    static way w, write;
    const unsigned raw = how == TERN_PUBLISH_BATCHED ? BATCH : RING;
    const uint64_t bytes = sizes[size];
    bench_case c = {.name = "one_way",
                    .params = {{"bytes", bytes, NULL}, {"policy", 0, way_names[how]}},
                    .unit = BENCH_RATE,
                    .messages = messages_of(b, how),
                    .runs = b->options.runs};
    w = (way){.bytes = bytes, .how = how};
    write = (way){.bytes = bytes, .how = TERN_PUBLISH_WRITE};
    bench_call_fill(w.payload);
    bench_call_fill(write.payload);
    c.measured = side_of(&w, how == SEND ? "tern_call by message" : "tern_call");
    c.ceiling = b->shared && how != SEND ? s->raw[raw] : s->message;
    if (b->shared && how != SEND && (bytes == 8 || (bytes == 256 && how == TERN_PUBLISH_BATCHED)))
        c.ratio_target = 1 / 0.8;
    if (b->shared && how == TERN_PUBLISH_SPILL)
        c.peers[c.peer_count++] = (bench_peer){side_of(&write, "tern_call, write"), 1 / 1.1};
    if (b->shared)
        c.peers[c.peer_count++].side = s->raw[COPY];
    const bench_times *times = bench_measure(b, &c);
    if (times == NULL)
        return;
    t->call[how][size] = median(times->measured, times->pairs);
    if (b->shared && how != SEND) {
        t->raw[raw][size] = median(times->ceiling, times->pairs);
        t->raw[COPY][size] = median(times->peer[c.peer_count - 1], times->pairs);
    }
}

static void print_cell(char *line, size_t room, double ns, uint64_t bytes) {
    size_t at = strlen(line);
    if (ns > 0)
        snprintf(line + at, room - at, " %10.0f", (double)bytes * 1e3 / ns);
    else
        snprintf(line + at, room - at, " %10s", "-");
}

/* Prints the table as the paper does: MB/s of arguments. */
static void print(bench *b, const table *t) {
    static const unsigned order[] = {SEND, TERN_PUBLISH_WRITE, TERN_PUBLISH_BATCHED,
                                     TERN_PUBLISH_SPILL};
    char line[160] = "MB/s of";
    bench_note(b, "table 2 of paper 000: medians over %u runs of %llu calls", b->options.runs,
               (unsigned long long)messages_of(b, TERN_PUBLISH_WRITE));
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " %10s", way_names[order[i]]);
    for (size_t i = 0; i < RAWS; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " %10s", raw_names[i]);
    bench_note(b, "%s", line);
    for (size_t size = 0; size < SIZES; size++) {
        snprintf(line, sizeof line, "%5u B", (unsigned)sizes[size]);
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            print_cell(line, sizeof line, t->call[order[i]][size], sizes[size]);
        for (size_t i = 0; i < RAWS; i++)
            print_cell(line, sizeof line, t->raw[i][size], sizes[size]);
        bench_note(b, "%s", line);
    }
}

void bench_call_table(bench *b, MPI_Comm comm) {
    static beside s;
    table t = {.call = {{0}}};
    if (!bench_selected(b, "one_way"))
        return;
    for (size_t size = 0; size < SIZES; size++) {
        open_beside(b, &s, sizes[size], comm);
        for (unsigned how = TERN_PUBLISH_WRITE; how < WAYS; how++)
            measure(b, how, size, &s, &t);
        close_beside(b, &s);
    }
    bench_ok(tern_call_policy(b->worker, b->other, TERN_PUBLISH_WRITE, 0), "tern_call_policy");
    if (b->rank == BENCH_ORIGIN)
        print(b, &t);
}
