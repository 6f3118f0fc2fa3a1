/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI's own streams of data to places in turn. Each message is made in the next slot and is sent
 * from there. Once all slots are used the origin waits until they may be used again: for puts by
 * MPI_Win_flush_local, for messages by MPI_Waitall.
 */

#ifndef TERN_BENCHMARKS_PUT_STREAM_H
#define TERN_BENCHMARKS_PUT_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

enum { CEILING_STREAM_SLOTS = 256 };

typedef struct ceiling_put_stream {
    MPI_Win win;   /* holds the places */
    MPI_Comm comm; /* used for nothing else */
    int other;
    uint64_t *source;    /* the first word counts up from 0 */
    char *slots;         /* of the origin; at the target the places for messages */
    uint64_t slot_count; /* at most places */
    uint64_t places;     /* at most CEILING_STREAM_SLOTS */
    size_t bytes;
} ceiling_put_stream;

void ceiling_put_stream_put(const ceiling_put_stream *stream, uint64_t n);

void ceiling_put_stream_send(const ceiling_put_stream *stream, uint64_t n);
void ceiling_put_stream_receive(const ceiling_put_stream *stream, uint64_t n);

#endif
