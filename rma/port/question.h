#ifndef TERN_RMA_PORT_QUESTION_H
#define TERN_RMA_PORT_QUESTION_H

/*
 * A question is a request to another rank that is answered at once, such as for a ring. It goes to
 * the rank's listener, which needs no progress of the rank. If the listener cannot be reached, the
 * question goes by a message of MPI. Starting and testing never wait. A question may reach its
 * target twice, by socket and by message, so answering it again must do no harm.
 *
 * One thread at a time uses a question.
 */

#include "rma/message/message.h"
#include "src/peers/peers.h"

#define TERN_QUESTION_MAX 256u /* largest payload of a question, and largest answer */

_Static_assert(sizeof(tern_message) + TERN_QUESTION_MAX <= TERN_LISTENER_MAX, "listeners take it");

/* What the socket's connection carries. The payload follows. */
typedef struct tern_wire_question {
    tern_wire_head head;
    tern_message message; /* as MPI would bring it */
} tern_wire_question;

struct tern_dial;

/* A process asks at most so many listeners at once. Further questions go by messages, so that first
 * contact with thousands of ranks does not open thousands of connections. */
#define TERN_DIALS_MAX 64u

/* The caller does not touch the memory of the answer while the question is open. */
typedef struct tern_question {
    struct tern_dial *dial; /* the connection to a listener; or NULL */
    MPI_Request message;    /* the question by message, if dial is NULL */
    void *answer;
    size_t bytes;
} tern_question;

#define TERN_QUESTION_NONE                                                                         \
    (tern_question) { .message = MPI_REQUEST_NULL }

/* Starts a question. message and payload, of at most TERN_QUESTION_MAX bytes, are copied. bytes:
 * the size of the answer. As with tern_message_ask, after an error nothing was asked. */
tern_status tern_question_start(tern_worker *worker, uint32_t rank, const tern_message *message,
                                const void *payload, size_t payload_bytes, void *answer,
                                size_t bytes, tern_question *question);

/* TERN_OK: the question has been answered, or is not open. TERN_ERR_AGAIN: not answered yet. */
tern_status tern_question_test(tern_worker *worker, tern_question *question);

static inline bool tern_question_is_open(const tern_question *question) {
    return question->dial != NULL || question->message != MPI_REQUEST_NULL;
}

/* Whether an open question waits for the target's progress, and not for its listener. */
bool tern_question_goes_by_message(const tern_question *question);

/* Ends a question whose answer is no longer needed. False: MPI may still write the answer, so its
 * memory must not be freed. */
bool tern_question_abandon(tern_question *question);

#endif
