/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "ways.h"

#include <stdlib.h>

#include "../bench.h"

typedef struct keeping {
    const archive_record *record;
    tern_writer writer;
} keeping;

static void *open_tern(const archive_record *record) {
    keeping *k = malloc(sizeof *k);
    k->record = record;
    bench_ok(tern_writer_open(&k->writer, NULL, 0, SIZE_MAX), "tern_writer_open");
    return k;
}

static size_t write_tern(void *state) {
    keeping *k = state;
    const archive_record *r = k->record;
    const void *archive = NULL;
    size_t bytes = 0;
    (void)tern_writer_reset(&k->writer);
    (void)TERN_WRITE(&k->writer, r->ids, r->id_count);
    (void)TERN_WRITE(&k->writer, &r->string_count, 1);
    for (size_t i = 0; i < r->string_count; i++)
        (void)tern_write_string(&k->writer, r->strings[i]);
    (void)TERN_WRITE(&k->writer, r->values, r->value_count);
    bench_ok(tern_writer_finish(&k->writer, &archive, &bytes), "tern_writer_finish");
    return bytes;
}

static uint64_t read_tern(void *state) {
    const keeping *k = state;
    tern_reader reader;
    const int64_t *ids = NULL;
    const double *values = NULL;
    size_t count = 0, strings = 0;
    (void)tern_reader_open(&reader, k->writer.data, k->writer.bytes);
    (void)TERN_READ_ARRAY(&reader, &ids, &count);
    uint64_t sum = archive_sum_ids(ids, count);
    (void)TERN_READ(&reader, &strings, 1);
    for (size_t i = 0; i < strings; i++) {
        const char *text = NULL;
        if (tern_read_string(&reader, &text, &count) != TERN_OK)
            break;
        sum += archive_sum_string(text, count - 1);
    }
    count = 0;
    (void)TERN_READ_ARRAY(&reader, &values, &count);
    sum += archive_sum_values(values, count);
    bench_ok(tern_reader_close(&reader), "tern_reader_close");
    return sum;
}

static void close_tern(void *state) {
    keeping *k = state;
    tern_writer_close(&k->writer);
    free(k);
}

const archive_way archive_tern = {"tern, copied", open_tern, write_tern, read_tern, close_tern};

/* The necessary work alone: the lengths are known, the memory is there. */
typedef struct copying {
    const archive_record *record;
    size_t *length; /* of each string */
    size_t bytes;
    char *flat;
    int64_t *ids;
    char *letters;
    double *values;
} copying;

static void *open_copy(const archive_record *record) {
    copying *c = calloc(1, sizeof *c);
    size_t letters = 0;
    c->record = record;
    c->length = calloc(record->string_count + 1, sizeof *c->length);
    for (size_t i = 0; i < record->string_count; i++)
        letters += c->length[i] = strlen(record->strings[i]);
    c->bytes = 8 * record->id_count + letters + 8 * record->value_count;
    c->flat = malloc(c->bytes + 1);
    c->ids = malloc(8 * record->id_count + 1);
    c->letters = malloc(letters + 1);
    c->values = malloc(8 * record->value_count + 1);
    return c;
}

static size_t write_copy(void *state) {
    copying *c = state;
    const archive_record *r = c->record;
    char *to = c->flat;
    memcpy(to, r->ids, 8 * r->id_count);
    to += 8 * r->id_count;
    for (size_t i = 0; i < r->string_count; i++) {
        memcpy(to, r->strings[i], c->length[i]);
        to += c->length[i];
    }
    memcpy(to, r->values, 8 * r->value_count);
    return c->bytes;
}

static uint64_t read_copy(void *state) {
    copying *c = state;
    const archive_record *r = c->record;
    const char *from = c->flat;
    char *letters = c->letters;
    memcpy(c->ids, from, 8 * r->id_count);
    from += 8 * r->id_count;
    uint64_t sum = archive_sum_ids(c->ids, r->id_count);
    for (size_t i = 0; i < r->string_count; i++) {
        memcpy(letters, from, c->length[i]);
        sum += archive_sum_string(letters, c->length[i]);
        letters += c->length[i];
        from += c->length[i];
    }
    memcpy(c->values, from, 8 * r->value_count);
    return sum + archive_sum_values(c->values, r->value_count);
}

static void close_copy(void *state) {
    copying *c = state;
    free(c->length);
    free(c->flat);
    free(c->ids);
    free(c->letters);
    free(c->values);
    free(c);
}

const archive_way archive_copy = {"memcpy", open_copy, write_copy, read_copy, close_copy};
