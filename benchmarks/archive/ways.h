/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways to turn a record into bytes and to read it again: tern's archive, memcpy, and other
 * serializers. Each is used as its own documentation recommends for speed: it keeps its memory from
 * one record to the next. A read looks at every id, the length and the last letter of every string,
 * and one of every eight values, through the interface of the way. All ways find the same sum.
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
    /* Returns the way's state, which holds the record in the way's own form if it has one. */
    void *(*open)(const archive_record *record);
    /* Writes the record to bytes, which are kept until the next write. Returns how many. */
    size_t (*write)(void *state);
    /* Reads the written bytes; returns the sum. */
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

/* length: without the final zero. */
static inline uint64_t archive_sum_string(const char *text, size_t length) {
    return length + (length > 0 ? (unsigned char)text[length - 1] : 0u);
}

static inline uint64_t archive_sum_values(const double *values, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i += 8)
        sum += archive_bits(values[i]);
    return sum;
}

/* archive_tern: copies everything into the archive. archive_copy: memcpy with known lengths. */
extern const archive_way archive_tern, archive_copy;

/* Defined for the serializers that were built. */
extern const archive_way archive_protobuf, archive_msgpack, archive_cereal, archive_capnp;

#ifdef __cplusplus
}
#endif

#endif
