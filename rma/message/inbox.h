#ifndef TERN_RMA_MESSAGE_INBOX_H
#define TERN_RMA_MESSAGE_INBOX_H

/*
 * Messages to workers (paper 000, 4.3), which need no ring. The worker that serves messages puts
 * them into the inbox of the worker that they name, and the progress of that worker takes them out.
 *
 *     sender                     target's process                      addressed worker
 *     credit: take cost
 *     message, or, to the own    poll: deliver, push on `arrived`      take all, run in order
 *     process, straight on                                             owed: add cost
 *     credit: give back      <-- message, at half of the credit ------ tell
 *
 * Each pair of a sending process and a receiving worker has a credit of TERN_MESSAGE_WINDOW bytes.
 * One word of the sender counts the cost of the messages that were sent and not yet acknowledged.
 * So a worker that computes does not keep others from reaching the other workers of its process.
 * There are two lanes, each with a credit of its own and a list of its own in the inbox. Messages
 * that handlers send use one of them alone, so they never wait behind messages that those handlers
 * could not serve while the credit of the other lane was used up.
 *
 * Ranks of one node exchange the same messages, but ask MPI for them only when there is a reason:
 * the sender counts the message in the target's worker page and rings its doorbell
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

/* Whether progress has anything to do in the inbox. An idle round checks no more than this. */
static inline bool tern_inbox_stirs(const tern_inbox *inbox) {
    /* R4 */
    uintptr_t arrived = (uintptr_t)atomic_load_explicit(&inbox->arrived, memory_order_relaxed);
    uintptr_t kept = (uintptr_t)inbox->lane[0].first | (uintptr_t)inbox->lane[1].first;
    return (arrived | kept | inbox->behind) != 0;
}

/* Tries once to send. worker: that of the calling thread, or tern_context_nobody. TERN_ERR_AGAIN:
 * the credit is used up, or no buffer is free, although messages have been served meanwhile.
 * TERN_ERR_PEER, TERN_ERR_MEMORY. */
tern_status tern_inbox_send(tern_worker *worker, uint32_t target, uint32_t what,
                            const void *payload, size_t bytes);

/* The number of the arrow in the timeline from the sending of a message to what worker target does
 * because of it (src/profile/trace.h). 0: no arrow. */
uint64_t tern_inbox_arrow(const tern_context *context, const tern_inbox_message *message,
                          uint32_t target);

/* The head of a lane of the worker's inbox, or NULL; it stays there until tern_inbox_end, which
 * frees it. */
const tern_inbox_message *tern_inbox_take(tern_worker *worker, tern_inbox_lane lane);
void tern_inbox_end(tern_worker *worker, tern_inbox_lane lane);

/* Whether there is a reason to ask MPI although every rank shares memory: messages that were
 * counted in this worker's page and are not delivered yet, or sends under way. */
bool tern_inbox_due(const tern_worker *worker);

/* Each serves one message (rma/serve.c); the MPI lock is held. [out] good: whether the message was
 * well formed. _deliver returns false if there is no memory for the message now. */
bool tern_inbox_deliver(tern_context *context, uint32_t source, const tern_message *message,
                        const char *payload, size_t bytes, bool *good);
bool tern_inbox_told(tern_context *context, const tern_message *message);

/* tern_inbox_notice tries once to send a message to worker message->target that does not go into
 * its inbox. A target on this node asks MPI for such a message, too, until its service counts it
 * with tern_inbox_count. */
tern_status tern_inbox_notice(tern_worker *worker, const tern_message *message, const void *payload,
                              size_t bytes);
void tern_inbox_count(tern_context *context, uint32_t source, const tern_message *message);

/* Allocates the reserve: memory for one message, used when malloc fails. */
tern_status tern_inbox_open(tern_context *context);
void tern_inbox_close(tern_context *context);

/* Tells the senders the cost that was due and could not be told before; returns how many were
 * told. */
size_t tern_inbox_advance(tern_worker *worker);

void tern_inbox_discard(tern_worker *worker);

#endif
