/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* MPI's own two-sided messages, for ranks without shared memory. Errors end the program by MPI's
 * default error handler. */

#include "message.h"

#include <string.h>

enum { TAG = 1, HEADER = 8, KIND = 1, PAYLOAD_MAX = 256, IN_FLIGHT = 64 };

static void receive(const ceiling_messages *m, void *buffer, int bytes) {
    int there = 0;
    MPI_Request request;
    if (m->how == CEILING_RECEIVE_POSTED) {
        MPI_Irecv(buffer, bytes, MPI_BYTE, m->other, TAG, m->comm, &request);
        while (!there)
            MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        return;
    }
    while (m->how == CEILING_RECEIVE_PROBED && !there)
        MPI_Iprobe(m->other, TAG, m->comm, &there, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, bytes, MPI_BYTE, m->other, TAG, m->comm, MPI_STATUS_IGNORE);
}

void ceiling_messages_send(ceiling_messages *m, uint64_t *payload, uint64_t bytes,
                           unsigned function, uint64_t n) {
    uint64_t header = KIND | (uint64_t)function << 16 | bytes << 32;
    char buffers[IN_FLIGHT][HEADER + PAYLOAD_MAX];
    MPI_Request requests[IN_FLIGHT];
    MPI_Status statuses[IN_FLIGHT]; /* gcc 12 warns of MPICH's MPI_STATUSES_IGNORE */
    memcpy(buffers[0], &header, HEADER);
    for (uint64_t i = 0; i < n && m->one_by_one; i++) {
        payload[0] = i + 1;
        memcpy(buffers[0] + HEADER, payload, bytes);
        MPI_Send(buffers[0], (int)(HEADER + bytes), MPI_BYTE, m->other, TAG, m->comm);
    }
    if (m->one_by_one || n == 0)
        return;
    for (uint64_t i = 0; i < n; i++) {
        size_t slot = i % IN_FLIGHT;
        if (slot == 0 && i > 0)
            MPI_Waitall(IN_FLIGHT, requests, statuses);
        payload[0] = i + 1;
        memcpy(buffers[slot], &header, HEADER);
        memcpy(buffers[slot] + HEADER, payload, bytes);
        MPI_Isend(buffers[slot], (int)(HEADER + bytes), MPI_BYTE, m->other, TAG, m->comm,
                  &requests[slot]);
    }
    MPI_Waitall((int)((n - 1) % IN_FLIGHT + 1), requests, statuses);
}

static void run(const ceiling_handler *handlers, void *argument, const char *record) {
    uint64_t header;
    memcpy(&header, record, HEADER);
    handlers[(header >> 16) & 0xffff](argument, record + HEADER, header >> 32);
}

/* Keeps a number of receives posted, and takes the messages in order. */
static void receive_posted(const ceiling_messages *m, const ceiling_handler *handlers,
                           void *argument, int bytes, uint64_t n) {
    _Alignas(8) char buffers[IN_FLIGHT][HEADER + PAYLOAD_MAX];
    MPI_Request requests[IN_FLIGHT];
    uint64_t posted = 0;
    for (; posted < n && posted < IN_FLIGHT; posted++)
        MPI_Irecv(buffers[posted], bytes, MPI_BYTE, m->other, TAG, m->comm, &requests[posted]);
    for (uint64_t i = 0; i < n; i++) {
        size_t slot = i % IN_FLIGHT;
        MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
        run(handlers, argument, buffers[slot]);
        if (posted < n) {
            MPI_Irecv(buffers[slot], bytes, MPI_BYTE, m->other, TAG, m->comm, &requests[slot]);
            posted++;
        }
    }
}

void ceiling_messages_receive(ceiling_messages *m, const ceiling_handler *handlers, void *argument,
                              uint64_t bytes, uint64_t n) {
    _Alignas(8) char buffer[HEADER + PAYLOAD_MAX];
    int length = (int)(HEADER + bytes);
    if (m->how == CEILING_RECEIVE_POSTED) {
        receive_posted(m, handlers, argument, length, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        receive(m, buffer, length);
        run(handlers, argument, buffer);
    }
}

void ceiling_messages_send_one(const ceiling_messages *m, const void *out, uint64_t bytes) {
    MPI_Send(out, (int)bytes, MPI_BYTE, m->other, TAG, m->comm);
}

void ceiling_messages_receive_one(const ceiling_messages *m, void *in, uint64_t bytes) {
    receive(m, in, (int)bytes);
}

/* MPI buffers a small send and completes it without the other side. Waiting for it at once is what
 * MPI does fastest. */
void ceiling_messages_ask(ceiling_messages *m, const void *out, uint64_t there, void *in,
                          uint64_t back, uint64_t n) {
    while (n-- > 0) {
        MPI_Send(out, (int)there, MPI_BYTE, m->other, TAG, m->comm);
        receive(m, in, (int)back);
    }
}

void ceiling_messages_answer(ceiling_messages *m, void *in, uint64_t there, const void *out,
                             uint64_t back, uint64_t n) {
    while (n-- > 0) {
        receive(m, in, (int)there);
        MPI_Send(out, (int)back, MPI_BYTE, m->other, TAG, m->comm);
    }
}
