#ifndef TERN_RPC_OVERFLOW_H
#define TERN_RPC_OVERFLOW_H

/*
 * Overflow: where calls wait whose ring is full and whose caller does not: handlers, which may not
 * (two workers whose rings face each other full of calls that call back would otherwise stand still
 * for ever), tern_call_queue and the policy TERN_PUBLISH_OVFL. One FIFO per target; while it holds
 * a call, every later call to that target goes behind it, so the order of a pair is kept. Only the
 * worker's own thread moves calls on, so its rings have one producer at any time. Bounded by
 * TERN_OVERFLOW_MEMORY per worker, half of which is kept for handlers: what they cannot leave there
 * stops the ring that they consume.
 */

#include "rpc/send.h"

/* What a ring would hold. */
typedef struct tern_pending_call {
    struct tern_pending_call *next;
    uint64_t header;
    char payload[];
} tern_pending_call;

typedef struct tern_overflow {
    struct tern_overflow *next; /* targets with calls waiting */
    uint32_t target;            /* worker number */
    tern_pending_call *first, *last;
} tern_overflow;

/* Moves on what waits for target; whether nothing is left. */
bool tern_overflow_clear(tern_worker *worker, uint32_t target);

/* Queues a call of so many bytes, and counts it as sent. TERN_ERR_AGAIN: the bound is reached. */
tern_status tern_overflow_push(tern_worker *worker, const tern_outgoing *outgoing, size_t bytes);

/* Moves what has room now into the rings; how many calls. The progress of the rpc layer. */
size_t tern_overflow_drain(tern_worker *worker);

void tern_overflow_discard(tern_worker *worker);

#endif
