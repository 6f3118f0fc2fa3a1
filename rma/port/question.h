#ifndef TERN_RMA_PORT_QUESTION_H
#define TERN_RMA_PORT_QUESTION_H

/*
 * Question: what a worker asks another rank that answers at once, such as for a ring. It goes to
 * the rank's listener, which needs no progress of the rank; where that cannot be reached, it goes
 * by a message of MPI. Starting and testing never wait. A question may reach its target twice, by
 * both ways, so answering it again must do no harm.
 *
 * One thread at a time uses a question.
 */

#include "rma/message/message.h"
#include "src/peers/peers.h"

#define TERN_QUESTION_MAX 256u /* bytes of a question beside its message, and of an answer */

_Static_assert(sizeof(tern_message) + TERN_QUESTION_MAX <= TERN_LISTENER_MAX, "listeners take it");

/* What the connection brings. The payload follows. */
typedef struct tern_wire_question {
    tern_wire_head head;
    tern_message message; /* as MPI would bring it */
} tern_wire_question;

struct tern_dial;

/* Questions of a process to listeners at once: further ones go by messages, so a first contact with
 * thousands of ranks makes no wave of connections. */
#define TERN_DIALS_MAX 64u

/* The memory of the answer stays as it is while a question is open. */
typedef struct tern_question {
    struct tern_dial *dial; /* to a listener; NULL: none */
    MPI_Request message;    /* else */
    void *answer;
    size_t bytes;
} tern_question;

#define TERN_QUESTION_NONE                                                                         \
    (tern_question) { .message = MPI_REQUEST_NULL }

/* message and payload, at most TERN_QUESTION_MAX bytes, are copied. The answer has bytes. As
 * tern_message_ask: after an error nothing was asked. */
tern_status tern_question_start(tern_worker *worker, uint32_t rank, const tern_message *message,
                                const void *payload, size_t payload_bytes, void *answer,
                                size_t bytes, tern_question *question);

/* TERN_OK: it has been answered, or is not open. TERN_ERR_AGAIN: not yet. */
tern_status tern_question_test(tern_worker *worker, tern_question *question);

static inline bool tern_question_is_open(const tern_question *question) {
    return question->dial != NULL || question->message != MPI_REQUEST_NULL;
}

/* Whether an open question waits for the target's progress, and not for its listener. */
bool tern_question_goes_by_message(const tern_question *question);

/* Nobody waits for the answer any more. False: MPI may still write it. */
bool tern_question_abandon(tern_question *question);

#endif
