#ifndef TERN_RMA_MESSAGE_INBOX_H
#define TERN_RMA_MESSAGE_INBOX_H

/*
 * Messages to workers (paper 000, 4.3), which need no ring. The thread that serves a message puts
 * it into the inbox of the worker that it names, and the progress of that worker takes it out.
 *
 *     sender                       target's process                    addressed worker
 *     credit: take cost
 *     send the message; within     poll: deliver, push on `arrived`    take all, run in order
 *     its process, push it at once                                     owed: add cost
 *     credit: give back        <-- message, at half of the credit ---- tell
 *
 * Each pair of a sending process and a receiving worker has a credit of TERN_MESSAGE_CREDIT_BYTES
 * bytes. One word of the sender counts the cost of the messages that were sent and not yet
 * acknowledged. So a worker that computes does not keep senders from reaching the other workers of
 * its process.
 *
 * There are two lanes, each with a credit of its own and a list of its own in the inbox. Only
 * handlers send in one of them. With a single lane, two processes could use up their credit for
 * each other, and then handlers that have to send could serve none of the messages that take it up.
 *
 * Ranks of one node exchange the same messages, but ask MPI for them only when there is a reason:
 * the sender counts the message in the target's worker page and rings the target's doorbell
 * (rma/memory/doorbell.h).
 */

#include "rma/memory/state.h"
#include "rma/message/message.h"

typedef struct tern_inbox_message {
    struct tern_inbox_message *next;
    tern_worker_id origin; /* index TERN_NO_WORKER: a thread without a worker */
    uint32_t what;         /* the low half of a record's header: kind and function */
    uint32_t bytes;
    tern_inbox_lane lane;
    uint32_t number; /* the sender's number for its trace; 0: the sender keeps none */
    _Alignas(8) char payload[];
} tern_inbox_message;

/* Whether progress has anything to do in the inbox. An idle round of progress looks no further. */
static inline bool tern_inbox_stirs(const tern_inbox *inbox) {
    /* R4 */
    uintptr_t arrived = (uintptr_t)atomic_load_explicit(&inbox->arrived, memory_order_relaxed);
    uintptr_t kept = (uintptr_t)inbox->lane[0].first | (uintptr_t)inbox->lane[1].first;
    return (arrived | kept | inbox->behind) != 0;
}

/* Tries to send a message into the inbox of worker number target, twice if need be: serves messages
 * in between, which may bring credit. worker: that of the calling thread, or tern_context_nobody.
 * TERN_ERR_AGAIN: the credit is used up, or no buffer is free. TERN_ERR_PEER, TERN_ERR_MEMORY. */
tern_status tern_inbox_send(tern_worker *worker, uint32_t target, uint32_t what,
                            const void *payload, size_t bytes);

/* Returns the number of a message's arrow in the timeline, from where it is sent to what worker
 * target does because of it (src/profile/trace.h). 0: no arrow. */
uint64_t tern_inbox_arrow(const tern_context *context, const tern_inbox_message *message,
                          uint32_t target);

/* Returns the first message of a lane of the worker's inbox, or NULL. It stays there until
 * tern_inbox_end, which frees it and gives its credit back. */
const tern_inbox_message *tern_inbox_take(tern_worker *worker, tern_inbox_lane lane);
void tern_inbox_end(tern_worker *worker, tern_inbox_lane lane);

/* Whether there is a reason to ask MPI even if all ranks share memory: messages that were counted
 * in this worker's page and not delivered yet, or, if all ranks share memory, sends under way. */
bool tern_inbox_due(const tern_worker *worker);

/* Each serves one message (rma/serve.c); the MPI lock is held. _deliver puts a message into its
 * inbox. [out] good: whether it was well formed. False: there is no memory for it now. _told serves
 * a worker's report of what it has run, and gives that credit back. False: it is malformed. */
bool tern_inbox_deliver(tern_context *context, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes, bool *good);
bool tern_inbox_told(tern_context *context, const tern_message *message);

/* tern_inbox_notice tries once to send a message to worker message->target that does not go into
 * its inbox and takes no credit. A target on this node asks MPI for such a message, too, until the
 * thread that serves it counts it with tern_inbox_count. */
tern_status tern_inbox_notice(tern_worker *worker, const tern_message *message, const void *payload,
                              size_t bytes);
void tern_inbox_count(tern_context *context, uint32_t source, const tern_message *message);

/* Allocates the reserve: memory for one message of another rank, used when malloc fails. */
tern_status tern_inbox_open(tern_context *context);
void tern_inbox_close(tern_context *context);

/* Tells senders the cost that is due and for which there was no buffer before; returns how many it
 * told. */
size_t tern_inbox_advance(tern_worker *worker);

/* Frees the messages in the inbox. */
void tern_inbox_discard(tern_worker *worker);

#endif
