/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "put_stream.h"

#include <string.h>

enum { TAG = 1 };

static char *make(const ceiling_put_stream *stream, uint64_t slot, uint64_t i) {
    char *at = stream->slots + slot * stream->bytes;
    *stream->source = i;
    memcpy(at, stream->source, stream->bytes);
    return at;
}

void ceiling_put_stream_put(const ceiling_put_stream *stream, uint64_t n) {
    int bytes = (int)stream->bytes;
    uint64_t slot = 0, place = 0;
    for (uint64_t i = 0; i < n; i++) {
        MPI_Put(make(stream, slot, i), bytes, MPI_BYTE, stream->other,
                (MPI_Aint)(place * stream->bytes), bytes, MPI_BYTE, stream->win);
        place = place + 1 < stream->places ? place + 1 : 0;
        slot++;
        if (slot == stream->slot_count) {
            MPI_Win_flush_local(stream->other, stream->win);
            slot = 0;
        }
    }
    MPI_Win_flush(stream->other, stream->win);
}

void ceiling_put_stream_send(const ceiling_put_stream *stream, uint64_t n) {
    MPI_Request requests[CEILING_STREAM_SLOTS];
    MPI_Status statuses[CEILING_STREAM_SLOTS]; /* gcc 12 warns of MPICH's MPI_STATUSES_IGNORE */
    uint64_t slot = 0;
    for (uint64_t i = 0; i < n; i++) {
        MPI_Isend(make(stream, slot, i), (int)stream->bytes, MPI_BYTE, stream->other, TAG,
                  stream->comm, &requests[slot]);
        slot++;
        if (slot == stream->slot_count || i + 1 == n) {
            MPI_Waitall((int)slot, requests, statuses);
            slot = 0;
        }
    }
}

/* Keeps a number of receives posted, and takes the messages in order, each into its place. */
void ceiling_put_stream_receive(const ceiling_put_stream *stream, uint64_t n) {
    MPI_Request requests[CEILING_STREAM_SLOTS];
    uint64_t posted = 0, under_way = stream->places < 64 ? stream->places : 64;
    for (uint64_t i = 0; i < n; i++) {
        for (; posted < n && posted < i + under_way; posted++)
            MPI_Irecv(stream->slots + posted % stream->places * stream->bytes, (int)stream->bytes,
                      MPI_BYTE, stream->other, TAG, stream->comm,
                      &requests[posted % stream->places]);
        MPI_Wait(&requests[i % stream->places], MPI_STATUS_IGNORE);
    }
}
