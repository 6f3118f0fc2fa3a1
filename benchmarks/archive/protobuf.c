/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* protobuf-c: packs into memory that is kept, and unpacks with an allocator that only moves
 * forward. */

#include "ways.h"

#include <stdlib.h>

#if defined(TERN_BENCH_PROTOBUF) && __has_include("record.pb-c.h") /* made from record.proto */
#include "record.pb-c.h"

typedef struct keeping {
    ArchiveRecord message; /* points into the record */
    uint8_t *packed;
    size_t bytes, room;
    char *arena;
    size_t used, arena_bytes;
    ProtobufCAllocator allocator;
} keeping;

static void *take(void *user, size_t bytes) {
    keeping *k = user;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > k->arena_bytes - k->used)
        return NULL;
    k->used += bytes;
    return k->arena + k->used - bytes;
}

static void give(void *user, void *memory) {
    (void)user;
    (void)memory;
}

static void *open_protobuf(const archive_record *record) {
    keeping *k = calloc(1, sizeof *k);
    archive_record__init(&k->message);
    k->message.n_ids = record->id_count;
    k->message.ids = record->ids;
    k->message.n_strings = record->string_count;
    k->message.strings = record->strings;
    k->message.n_values = record->value_count;
    k->message.values = record->values;
    k->room = archive_record__get_packed_size(&k->message);
    k->packed = malloc(k->room);
    k->arena_bytes = 4 * k->room + (64 << 10);
    k->arena = malloc(k->arena_bytes);
    k->allocator = (ProtobufCAllocator){take, give, k};
    return k;
}

static size_t write_protobuf(void *state) {
    keeping *k = state;
    if (archive_record__get_packed_size(&k->message) > k->room)
        return 0;
    return k->bytes = archive_record__pack(&k->message, k->packed);
}

static uint64_t read_protobuf(void *state) {
    keeping *k = state;
    k->used = 0;
    ArchiveRecord *got = archive_record__unpack(&k->allocator, k->bytes, k->packed);
    if (got == NULL)
        return 0;
    uint64_t sum = archive_sum_ids(got->ids, got->n_ids);
    for (size_t i = 0; i < got->n_strings; i++)
        sum += archive_sum_string(got->strings[i], strlen(got->strings[i]));
    return sum + archive_sum_values(got->values, got->n_values);
}

static void close_protobuf(void *state) {
    keeping *k = state;
    free(k->packed);
    free(k->arena);
    free(k);
}

const archive_way archive_protobuf = {"protobuf-c", open_protobuf, write_protobuf, read_protobuf,
                                      close_protobuf};
#endif
