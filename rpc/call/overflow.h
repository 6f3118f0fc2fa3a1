#ifndef TERN_RPC_CALL_OVERFLOW_H
#define TERN_RPC_CALL_OVERFLOW_H

/*
 * Overflow: where calls wait whose ring is full and whose caller does not: handlers, which may not
 * (two workers whose rings face each other full of calls that call back would otherwise stand still
 * for ever), tern_call_queue and the policy TERN_PUBLISH_SPILL. One FIFO per target; while it
 * lasts, every later call to that target goes behind it, so the order of a pair is kept. Bounded by
 * TERN_OVERFLOW_MEMORY per worker, half of which is kept for handlers: what they cannot leave there
 * stops the ring that they consume.
 *
 * The worker's progress moves calls on, and so do service threads while the worker computes (the
 * paper's RetryAsync). A queue has its target's ring, taken out of the worker's table, and both are
 * touched under one lock: the thread that has it is the ring's only producer. Queues come and go by
 * the worker's own thread alone, which therefore walks their list without the lock.
 */

#include "rpc/call/send.h"

/* What a ring would hold. */
typedef struct tern_pending_call {
    struct tern_pending_call *next;
    uint64_t header;
    char payload[];
} tern_pending_call;

typedef struct tern_overflow {
    struct tern_overflow *next;
    struct tern_out *out; /* the target's ring */
    tern_pending_call *first, *last;
} tern_overflow;

void tern_overflow_open(tern_worker *worker);
/* What still waits is lost. */
void tern_overflow_close(tern_worker *worker);

/* The target's ring, wherever it is, or NULL: to read what only the worker's own thread writes. */
struct tern_out *tern_overflow_ring_of(const tern_worker *worker, uint32_t target);
/* The same for any short use, until tern_overflow_ring_done. */
struct tern_out *tern_overflow_ring(tern_worker *worker, uint32_t target);
void tern_overflow_ring_done(tern_worker *worker);

/* Moves on what waits for target; whether nothing is left, and the worker has the ring. */
bool tern_overflow_clear(tern_worker *worker, uint32_t target);

/* Queues a call of so many bytes, and counts it as sent. TERN_ERR_AGAIN: the bound is reached. */
tern_status tern_overflow_push(tern_worker *worker, const tern_outgoing *outgoing, size_t bytes);

/* Moves what has room now into the rings; how many calls. The progress of the rpc layer. */
size_t tern_overflow_drain(tern_worker *worker);

/* The same by a service thread, with its own worker, for the workers of the application. */
size_t tern_overflow_assist(tern_worker *service);

/* A rank to which calls wait: rank, or any for TERN_ANYBODY; TERN_NOBODY. */
uint32_t tern_overflow_unsent(const tern_worker *worker, uint32_t rank);

/* For a call that was taken and can never be sent: a wait for it in this process hears the status,
 * with the detail, and it counts as over (rpc/call/lost.c). The worker is that of this thread,
 * origin the one that made the call. */
void tern_call_lost(tern_worker *worker, uint32_t origin, const tern_pending_call *call,
                    tern_status status);

#endif
