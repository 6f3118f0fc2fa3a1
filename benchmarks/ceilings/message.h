/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/* The ceilings made of MPI's messages: message.c. */

#ifndef TERN_BENCHMARKS_MESSAGE_H
#define TERN_BENCHMARKS_MESSAGE_H

#include <mpi.h>

#include "ceilings.h"

typedef enum ceiling_receive {
    CEILING_RECEIVE_BLOCKING, /* MPI_Recv */
    CEILING_RECEIVE_PROBED,   /* MPI_Iprobe until there is a message, then MPI_Recv, as in a library
                                 that has other things to look for */
    CEILING_RECEIVE_POSTED    /* MPI_Irecv beforehand, then MPI_Test */
} ceiling_receive;

typedef struct ceiling_messages {
    MPI_Comm comm; /* used for nothing else */
    int other;     /* for receiving streams, MPI_ANY_SOURCE is allowed */
    ceiling_receive how;
    int one_by_one; /* MPI_Send sends streams, not many MPI_Isend at a time */
} ceiling_messages;

/* n messages of an 8-byte header and a payload of bytes, up to 256, with an indirect call each. */
void ceiling_messages_send(ceiling_messages *m, uint64_t *payload, uint64_t bytes,
                           unsigned function, uint64_t n);
void ceiling_messages_receive(ceiling_messages *m, const ceiling_handler *handlers, void *argument,
                              uint64_t bytes, uint64_t n);

/* Sends one message of bytes. */
void ceiling_messages_send_one(const ceiling_messages *m, const void *out, uint64_t bytes);
void ceiling_messages_receive_one(const ceiling_messages *m, void *in, uint64_t bytes);

/* Round trips: there bytes to the answerer, and back bytes to the asker. */
void ceiling_messages_ask(ceiling_messages *m, const void *out, uint64_t there, void *in,
                          uint64_t back, uint64_t n);
void ceiling_messages_answer(ceiling_messages *m, void *in, uint64_t there, const void *out,
                             uint64_t back, uint64_t n);

#endif
