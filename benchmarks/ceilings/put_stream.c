/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

#include "put_stream.h"

#include <string.h>

enum { TAG = 1 };

static char *make(const ceiling_put_stream *way, uint64_t slot, uint64_t i) {
    char *at = way->slots + slot * way->bytes;
    *way->source = i;
    memcpy(at, way->source, way->bytes);
    return at;
}

void ceiling_put_stream_put(const ceiling_put_stream *way, uint64_t n) {
    int bytes = (int)way->bytes;
    uint64_t slot = 0, place = 0;
    for (uint64_t i = 0; i < n; i++) {
        MPI_Put(make(way, slot, i), bytes, MPI_BYTE, way->other, (MPI_Aint)(place * way->bytes),
                bytes, MPI_BYTE, way->win);
        place = place + 1 < way->places ? place + 1 : 0;
        slot++;
        if (slot == way->slot_count) {
            MPI_Win_flush_local(way->other, way->win);
            slot = 0;
        }
    }
    MPI_Win_flush(way->other, way->win);
}

void ceiling_put_stream_send(const ceiling_put_stream *way, uint64_t n) {
    MPI_Request requests[CEILING_STREAM_SLOTS];
    MPI_Status statuses[CEILING_STREAM_SLOTS]; /* gcc 12 warns of MPICH's MPI_STATUSES_IGNORE */
    uint64_t slot = 0;
    for (uint64_t i = 0; i < n; i++) {
        MPI_Isend(make(way, slot, i), (int)way->bytes, MPI_BYTE, way->other, TAG, way->comm,
                  &requests[slot]);
        slot++;
        if (slot == way->slot_count || i + 1 == n) {
            MPI_Waitall((int)slot, requests, statuses);
            slot = 0;
        }
    }
}

/* Keeps a number of receives posted, and takes the messages in order, each into its place. */
void ceiling_put_stream_receive(const ceiling_put_stream *way, uint64_t n) {
    MPI_Request requests[CEILING_STREAM_SLOTS];
    uint64_t posted = 0, under_way = way->places < 64 ? way->places : 64;
    for (uint64_t i = 0; i < n; i++) {
        for (; posted < n && posted < i + under_way; posted++)
            MPI_Irecv(way->slots + posted % way->places * way->bytes, (int)way->bytes, MPI_BYTE,
                      way->other, TAG, way->comm, &requests[posted % way->places]);
        MPI_Wait(&requests[i % way->places], MPI_STATUS_IGNORE);
    }
}
