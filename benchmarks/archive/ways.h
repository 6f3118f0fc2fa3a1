/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways to make bytes of a record and to read them again: tern's archive, memcpy, and serializers of
 * others, each as its own documentation uses it where time counts: with memory that is kept from
 * one record to the next. To read is to look at every id, the length and the last letter of every
 * string, and one of every eight values, by what the way hands out; all ways find the same sum.
 */

#ifndef TERN_BENCHMARKS_ARCHIVE_WAYS_H
#define TERN_BENCHMARKS_ARCHIVE_WAYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct archive_record {
    int64_t *ids;
    size_t id_count;
    char **strings;
    size_t string_count;
    double *values;
    size_t value_count;
} archive_record;

typedef struct archive_way {
    const char *name;
    /* What the way keeps, in its own form if it has one. */
    void *(*open)(const archive_record *record);
    /* Bytes of the record, kept until the next write. Returns how many. */
    size_t (*write)(void *state);
    /* Reads what was written; returns the sum. */
    uint64_t (*read)(void *state);
    void (*close)(void *state);
} archive_way;

static inline uint64_t archive_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t archive_sum_ids(const int64_t *ids, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (uint64_t)ids[i];
    return sum;
}

/* length: without a final zero. */
static inline uint64_t archive_sum_string(const char *text, size_t length) {
    return length + (length > 0 ? (unsigned char)text[length - 1] : 0u);
}

static inline uint64_t archive_sum_values(const double *values, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i += 8)
        sum += archive_bits(values[i]);
    return sum;
}

/* tern's own: everything copied into the archive. memcpy: with lengths that are known. */
extern const archive_way archive_tern, archive_copy;

/* Those that were built. */
extern const archive_way archive_protobuf, archive_msgpack, archive_cereal, archive_capnp;

#ifdef __cplusplus
}
#endif

#endif
