/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Archives beside memcpy and the serializers of others (paper 004, figure 3). One record is from
 * the comparison of C++ serializers that the paper extends: 1,000 integers of all widths and 100
 * strings of 86 letters. The other has 16 MiB of doubles. Each is written, read, and both. The
 * large record is measured copied into the archive and as an RMA chunk beside it. Only the origin
 * works.
 */

#include "bench.h"
#include "archive/ways.h"

#include <stdlib.h>

enum { IDS = 1000, STRINGS = 100, LETTERS = 86, VALUES = (16 << 20) / 8, WAYS = 4 };

/* The serializers that were built. */
static const archive_way *const peers[] = {
#ifdef TERN_BENCH_PROTOBUF
    &archive_protobuf,
#endif
#ifdef TERN_BENCH_MSGPACK
    &archive_msgpack,
#endif
#ifdef TERN_BENCH_CEREAL
    &archive_cereal,
#endif
#ifdef TERN_BENCH_CAPNP
    &archive_capnp,
#endif
    NULL};

/* A quarter each of numbers of 1, 2, 4 and 8 bytes; random letters. */
static void make_small(archive_record *r) {
    uint64_t random = 4;
    *r = (archive_record){.id_count = IDS, .string_count = STRINGS};
    r->ids = malloc(IDS * sizeof *r->ids);
    r->strings = malloc(STRINGS * sizeof *r->strings);
    for (size_t i = 0; i < IDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        r->ids[i] = (int64_t)(random ^ random << 32) >> (64 - (8 << (random >> 33 & 3)));
    }
    for (size_t i = 0; i < STRINGS; i++) {
        r->strings[i] = malloc(LETTERS + 1);
        for (size_t k = 0; k < LETTERS; k++)
            r->strings[i][k] = (char)('a' + (i * 7 + k * k) % 26);
        r->strings[i][LETTERS] = 0;
    }
}

static void make_large(archive_record *r, double *values) {
    *r = (archive_record){.values = values, .value_count = VALUES};
    for (size_t i = 0; i < VALUES; i++)
        values[i] = 1.0 / (double)(i + 1);
}

static void free_small(archive_record *r) {
    for (size_t i = 0; i < STRINGS; i++)
        free(r->strings[i]);
    free(r->strings);
    free(r->ids);
}

/* The record, whose values stay where they are, in the segment. */
typedef struct sharing {
    const archive_record *record;
    tern_writer writer;
} sharing;

static tern_worker *sharing_worker;

static void *open_shared(const archive_record *record) {
    sharing *s = malloc(sizeof *s);
    s->record = record;
    bench_ok(tern_writer_open(&s->writer, NULL, 0, SIZE_MAX), "tern_writer_open");
    bench_ok(tern_writer_share(&s->writer, sharing_worker, 0), "tern_writer_share");
    return s;
}

static size_t write_shared(void *state) {
    sharing *s = state;
    const void *archive = NULL;
    size_t bytes = 0, count = 0;
    (void)tern_writer_reset(&s->writer);
    (void)TERN_WRITE(&s->writer, s->record->values, s->record->value_count);
    bench_ok(tern_writer_finish(&s->writer, &archive, &bytes), "tern_writer_finish");
    (void)tern_writer_chunks(&s->writer, &count);
    return bytes + count * sizeof(tern_chunk);
}

static uint64_t read_shared(void *state) {
    const sharing *s = state;
    tern_reader reader;
    const double *values = NULL;
    size_t count = 0, chunks = 0;
    const tern_chunk *chunk = tern_writer_chunks(&s->writer, &chunks);
    (void)tern_reader_open(&reader, s->writer.data, s->writer.bytes);
    (void)tern_reader_chunks(&reader, chunk, chunks);
    (void)TERN_READ_ARRAY(&reader, &values, &count);
    bench_ok(tern_reader_close(&reader), "tern_reader_close");
    return archive_sum_values(values, count);
}

static void close_shared(void *state) {
    sharing *s = state;
    tern_writer_close(&s->writer);
    free(s);
}

static const archive_way shared = {"tern, an RMA chunk", open_shared, write_shared, read_shared,
                                   close_shared};

/* A way that is open. */
typedef struct contender {
    const archive_way *way;
    void *state;
} contender;

static void write_each(bench *b, void *state, uint64_t n) {
    const contender *c = state;
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        bench_use(c->way->write(c->state));
}

static void read_each(bench *b, void *state, uint64_t n) {
    const contender *c = state;
    (void)b;
    for (uint64_t i = 0; i < n; i++)
        bench_use(c->way->read(c->state));
}

static void write_and_read_each(bench *b, void *state, uint64_t n) {
    const contender *c = state;
    (void)b;
    for (uint64_t i = 0; i < n; i++) {
        bench_use(c->way->write(c->state));
        bench_use(c->way->read(c->state));
    }
}

static uint64_t sum_of(const archive_record *r) {
    uint64_t sum = archive_sum_ids(r->ids, r->id_count);
    for (size_t i = 0; i < r->string_count; i++)
        sum += archive_sum_string(r->strings[i], strlen(r->strings[i]));
    return sum + archive_sum_values(r->values, r->value_count);
}

/* Opens a way and checks that it reads what it wrote. */
static void enter(bench *b, contender *c, const archive_way *way, const archive_record *record) {
    *c = (contender){way, way->open(record)};
    size_t bytes = way->write(c->state);
    if (way->read(c->state) != sum_of(record))
        bench_fail(way->name, TERN_ERR_MISMATCH);
    bench_note(b, "%-20s %9zu bytes", way->name, bytes);
}

/* Target: how many times as long as tern a way has to take, at least. Cap'n Proto does not
 * serialize: it builds its own structures, which are read in place. */
static double least(const archive_way *way, const char *record) {
    if (strcmp(way->name, "Cap'n Proto") != 0)
        return 1;
    return strcmp(record, "small") == 0 ? 1 / 1.3 : 0;
}

static void measure(bench *b, const char *name, contender *all, size_t count,
                    const bench_case *like, void (*run)(bench *, void *, uint64_t)) {
    bench_case c = *like;
    c.name = name;
    c.measured = bench_way(all[0].way->name, run, NULL, &all[0]);
    c.ceiling = bench_way(all[1].way->name, run, NULL, &all[1]);
    for (size_t i = 2; i < count; i++) {
        bench_peer *peer = &c.peers[c.peer_count++];
        peer->side = bench_way(all[i].way->name, run, NULL, &all[i]);
        if (run == write_and_read_each)
            peer->at_least = least(all[i].way, like->params[0].text);
    }
    bench_measure(b, &c);
}

/* Compares tern's way, memcpy and the others on one record. Only the origin has one. */
static void compare(bench *b, const char *name, const archive_way *way,
                    const archive_record *record) {
    contender all[2 + WAYS] = {{way, NULL}, {&archive_copy, NULL}};
    size_t count = 2;
    bench_case like = {.params = {{.name = "record", .text = name}}, .unit = BENCH_TIME};
    while (peers[count - 2] != NULL) {
        all[count].way = peers[count - 2];
        count++;
    }
    for (size_t i = 0; i < count && b->rank == BENCH_ORIGIN; i++)
        enter(b, &all[i], all[i].way, record);
    measure(b, "write", all, count, &like, write_each);
    measure(b, "read", all, count, &like, read_each);
    measure(b, "round_trip", all, count, &like, write_and_read_each);
    for (size_t i = 0; i < count && b->rank == BENCH_ORIGIN; i++)
        all[i].way->close(all[i].state);
}

void bench_archive(bench *b) {
    archive_record small, large;
    tern_vector values;
    sharing_worker = b->worker;
    make_small(&small);
    bench_ok(TERN_VECTOR_CREATE(b->worker, double, VALUES, &values), "tern_vector_create");
    make_large(&large, tern_vector_data(&values));
    compare(b, "small", &archive_tern, &small);
    compare(b, "large", &archive_tern, &large);
    compare(b, "large in chunks", &shared, &large);
    tern_vector_destroy(&values);
    free_small(&small);
}
