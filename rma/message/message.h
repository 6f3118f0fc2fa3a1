#ifndef TERN_RMA_MESSAGE_MESSAGE_H
#define TERN_RMA_MESSAGE_MESSAGE_H

/*
 * Messages use two-sided MPI. The transports between nodes and, everywhere, calls by message
 * (rma/message/inbox.h) are built on them. p2p does everything by messages; rma uses them to set up
 * rings, and to let owners apply atomics where MPI's own atomics cannot be used. Messages of one
 * process to another are served in the order in which they were sent. To serve a message, a thread
 * never waits and never runs a handler, so two processes that wait for each other's service get it.
 * Threads without a worker pass tern_context_nobody, which is written only with the MPI lock held.
 *
 * Requests, all messages but answers, arrive in a few receive buffers that are always posted. The
 * asker posts a receive for its answer, with a tag of its own, before it asks; so the answer goes
 * straight into the asker's memory. Answers have their own send buffers, so that a process whose
 * requests are stuck can still answer.
 */

#include "src/context.h"
#include "tern/message.h"

typedef enum tern_message_kind {
    TERN_MESSAGE_PUT,
    TERN_MESSAGE_GET,
    TERN_MESSAGE_ATOMIC,
    TERN_MESSAGE_PUT_IF,
    TERN_MESSAGE_ACCUMULATE,
    TERN_MESSAGE_FLUSH,
    TERN_MESSAGE_OPEN,
    TERN_MESSAGE_FRAME,
    TERN_MESSAGE_CREDIT,
    TERN_MESSAGE_REPLY,
    TERN_MESSAGE_RKEY,
    TERN_MESSAGE_REVOKE,
    TERN_MESSAGE_INBOX,
    TERN_MESSAGE_INBOX_TAKEN,
    TERN_MESSAGE_CONTACT,
    TERN_MESSAGE_SLEEP,
    TERN_MESSAGE_WAKE,
    TERN_MESSAGE_RECLAIM,
    TERN_MESSAGE_CLOSED,
    TERN_MESSAGE_FOLLOW
} tern_message_kind;

/* What every message begins with. */
typedef struct tern_message {
    uint32_t kind;
    uint32_t tag;    /* MPI's tag of the answer; 0: no answer is wanted */
    uint32_t origin; /* worker number of the sender */
    uint32_t target; /* worker number, for the kinds that have a target */
    uint64_t offset; /* in the segment, or a ring position */
    uint64_t bytes;
    uint64_t operand[2];
} tern_message;

/* The largest payload of one message is TERN_MESSAGE_MAX, 32 KiB. 8 KiB would stay under the eager
 * limits of both MPIs' TCP paths, but fewer and larger pieces were measured to be faster for large
 * puts. */

typedef struct tern_message_engine tern_message_engine;

/* Serves one message. The MPI lock is held. False: there is no memory for it now; try again
 * later. */
typedef bool (*tern_message_server)(tern_worker *worker, uint32_t source,
                                    const tern_message *message, const char *payload, size_t bytes);

/* Begins to receive messages. Local; uses the context's own communicator. serve: the function of
 * rma/serve.c, which knows the function that serves each kind. */
tern_status tern_messages_open(tern_context *context, tern_message_server serve,
                               tern_message_engine **engine);
/* Collective: every message that was sent anywhere has been served when it returns. */
tern_status tern_messages_drain(tern_context *context);
/* Frees the engine. Local. After a death, or when MPI is gone, MPI's objects are leaked. */
void tern_messages_close(tern_context *context, tern_message_engine *engine);

/* Sends a message without waiting; message and payload are copied. TERN_ERR_AGAIN: all send buffers
 * are in use until MPI has sent another message. TERN_ERR_MEMORY: there is no send buffer, and no
 * memory for one. */
tern_status tern_message_send(tern_worker *worker, uint32_t rank, const tern_message *message,
                              const void *payload, size_t bytes);
/* Posts a receive of `bytes` bytes for the answer, then sends the message without waiting. [out]
 * request: that of the receive, which ends when the answer has come. Returns the errors of
 * tern_message_send. */
tern_status tern_message_ask(tern_worker *worker, uint32_t rank, const tern_message *message,
                             void *answer, size_t bytes, MPI_Request *request);
/* The same for a message with a payload. */
tern_status tern_message_ask_with(tern_worker *worker, uint32_t rank, const tern_message *message,
                                  const void *payload, size_t payload_bytes, void *answer,
                                  size_t bytes, MPI_Request *request);
/* Takes back the receive of an answer that is not wanted any more; local. The MPI lock is held. */
void tern_message_forget(MPI_Request *request);
/* Does the same as tern_message_send, but waits, with progress, for a free send buffer. */
tern_status tern_message_send_all(tern_worker *worker, uint32_t rank, const tern_message *message,
                                  const void *payload, size_t bytes);
/* Sends a message and waits for its answer; makes progress meanwhile. */
tern_status tern_message_question(tern_worker *worker, uint32_t rank, const tern_message *message,
                                  void *answer, size_t bytes);

/* Serves messages that have arrived; returns how many. */
size_t tern_message_poll(tern_worker *worker);

/* Whether MPI still has to do something for messages that this process has sent. */
bool tern_messages_under_way(const tern_context *context);
/* The same for messages to rank, or to any rank for TERN_ANYBODY. Returns a rank to which one is
 * under way, or TERN_NOBODY. */
uint32_t tern_messages_unsent(const tern_context *context, uint32_t rank);

/* Sends an answer; for use inside a tern_message_server. in_segment: data lies in the segment and
 * stays there, so a large answer is sent from there without a copy. */
void tern_message_answer(tern_worker *worker, uint32_t rank, uint32_t tag, const void *data,
                         size_t bytes, bool in_segment);

/* Waits, with progress, until MPI has sent all answers, so that the memory from which they were
 * sent may be reused. */
tern_status tern_messages_settle_answers(tern_worker *worker);

/* How many messages, answers not counted, were sent to a rank so far. The MPI lock is held. */
uint64_t tern_messages_sent(const tern_context *context, uint32_t rank);
/* Waits, with progress, until `count` messages of rank have been served here. TERN_ERR_PEER. */
tern_status tern_messages_await(tern_worker *worker, uint32_t rank, uint64_t count);

/* Asks the owner of a word to apply an atomic with its processor, and waits for the answer. [out]
 * old: the value before. */
tern_status tern_message_atomic(tern_worker *worker, uint32_t rank, uint64_t offset,
                                tern_atomic_op op, unsigned width, uint64_t operand,
                                uint64_t expected, uint64_t *old);

#endif
