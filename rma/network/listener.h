#ifndef TERN_RMA_NETWORK_LISTENER_H
#define TERN_RMA_NETWORK_LISTENER_H

/*
 * Listener: a thread of each process that answers questions of other ranks on a TCP socket, so that
 * they need no progress of this rank. It makes no call of MPI and takes no lock that is held during
 * one. A connection carries one question and its answer; the listener closes it.
 *
 * The thread alone uses its connections. Others start and stop it.
 */

#include "rma/transport/message.h"
#include "src/context.h"

#define TERN_QUESTION_MAX 256u /* bytes of a question beside its message, and of an answer */

#define TERN_QUESTION_MAGIC UINT64_C(0x6e6f697473657571)
#define TERN_ANSWER_MAGIC UINT64_C(0x21726577736e6131)

/* What a connection brings, in the byte order of the job. The payload follows. */
typedef struct tern_wire_question {
    uint64_t magic, nonce; /* the context's */
    uint32_t from, to;     /* ranks */
    uint32_t bytes;        /* of the payload */
    uint32_t unused;
    tern_message message; /* as MPI would bring it */
} tern_wire_question;

/* What it takes back. The answer follows. */
typedef struct tern_wire_answer {
    uint64_t magic, nonce;
    uint32_t rank, bytes;
} tern_wire_answer;

/* Where the listener of a rank may be reached. Ranks of one machine need none of the addresses. */
#define TERN_LISTENER_V4 6u
#define TERN_LISTENER_V6 2u
typedef struct tern_listener_address {
    uint16_t port; /* 0: there is no listener */
    uint8_t count4, count6;
    uint32_t v4[TERN_LISTENER_V4]; /* in network order */
    uint8_t v6[TERN_LISTENER_V6][16];
    uint32_t unused;
} tern_listener_address;

_Static_assert(sizeof(tern_listener_address) == 64, "it is exchanged and kept for every rank");

typedef struct tern_listener tern_listener;

/* Collective: starts the listeners, and tells where they are. A rank that cannot have one says why
 * in its log. Nothing where the far transport is no network. */
tern_status tern_listeners_open(tern_context *context);

/* Local. NULL is fine. */
void tern_listener_stop(tern_listener *listener);

#endif
