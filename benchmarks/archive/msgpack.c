/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* msgpack-c: packs into a buffer that is kept, and unpacks into objects in a zone of their own. */

#include "ways.h"

#include <stdlib.h>

#ifdef TERN_BENCH_MSGPACK
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <msgpack.h>
#pragma GCC diagnostic pop

typedef struct keeping {
    const archive_record *record;
    msgpack_sbuffer buffer;
    msgpack_unpacked unpacked;
} keeping;

static void *open_msgpack(const archive_record *record) {
    keeping *k = calloc(1, sizeof *k);
    k->record = record;
    msgpack_sbuffer_init(&k->buffer);
    msgpack_unpacked_init(&k->unpacked);
    return k;
}

static size_t write_msgpack(void *state) {
    keeping *k = state;
    const archive_record *r = k->record;
    msgpack_packer packer;
    msgpack_sbuffer_clear(&k->buffer);
    msgpack_packer_init(&packer, &k->buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 3);
    msgpack_pack_array(&packer, r->id_count);
    for (size_t i = 0; i < r->id_count; i++)
        msgpack_pack_int64(&packer, r->ids[i]);
    msgpack_pack_array(&packer, r->string_count);
    for (size_t i = 0; i < r->string_count; i++)
        msgpack_pack_str_with_body(&packer, r->strings[i], strlen(r->strings[i]));
    msgpack_pack_array(&packer, r->value_count);
    for (size_t i = 0; i < r->value_count; i++)
        msgpack_pack_double(&packer, r->values[i]);
    return k->buffer.size;
}

/* msgpack stores a positive number as an unsigned one, so each value keeps its bits. */
static uint64_t read_msgpack(void *state) {
    keeping *k = state;
    if (msgpack_unpack_next(&k->unpacked, k->buffer.data, k->buffer.size, NULL) !=
        MSGPACK_UNPACK_SUCCESS)
        return 0;
    const msgpack_object_array *all = &k->unpacked.data.via.array;
    const msgpack_object_array *ids = &all->ptr[0].via.array, *strings = &all->ptr[1].via.array;
    const msgpack_object_array *values = &all->ptr[2].via.array;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ids->size; i++)
        sum += ids->ptr[i].via.u64;
    for (uint32_t i = 0; i < strings->size; i++)
        sum += archive_sum_string(strings->ptr[i].via.str.ptr, strings->ptr[i].via.str.size);
    for (uint32_t i = 0; i < values->size; i += 8)
        sum += archive_bits(values->ptr[i].via.f64);
    return sum;
}

static void close_msgpack(void *state) {
    keeping *k = state;
    msgpack_unpacked_destroy(&k->unpacked);
    msgpack_sbuffer_destroy(&k->buffer);
    free(k);
}

const archive_way archive_msgpack = {"msgpack-c", open_msgpack, write_msgpack, read_msgpack,
                                     close_msgpack};
#endif
