#ifndef TERN_RPC_CALL_OVERFLOW_H
#define TERN_RPC_CALL_OVERFLOW_H

/*
 * Overflow: queues for calls whose ring is full and whose caller does not wait. Such callers are
 * handlers, tern_call_queue and the policy TERN_PUBLISH_SPILL. Handlers may not wait: otherwise two
 * workers whose rings to each other are full of calls that call back would block each other for
 * ever. Each target has one FIFO. While the FIFO is not empty every later call to the target goes
 * behind it, which keeps the order of the pair. TERN_OVERFLOW_MEMORY bounds the queues of a worker,
 * and half of it is kept for handlers. A handler whose call finds no room there stops the ring that
 * it consumes.
 *
 * The worker's progress moves calls to the rings, and so do service threads while the worker
 * computes (the paper's RetryAsync). A queue owns its target's ring, which is taken out of the
 * worker's table. One lock protects both: the thread that holds it is the ring's only producer.
 * Only the worker's own thread adds and removes queues, and so it walks their list without the
 * lock.
 */

#include "rpc/call/send.h"

/* A queued call: the record that the ring would hold. */
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
/* Frees the queues; calls that still wait are lost. */
void tern_overflow_close(tern_worker *worker);

/* Returns the target's ring, which is in the worker's table or in a queue, or NULL. The caller may
 * only read fields that the worker's own thread alone writes. */
struct tern_out *tern_overflow_ring_of(const tern_worker *worker, uint32_t target);
/* Returns the same ring for any use. The lock is held until tern_overflow_ring_done, so the use
 * must be short. */
struct tern_out *tern_overflow_ring(tern_worker *worker, uint32_t target);
void tern_overflow_ring_done(tern_worker *worker);

/* Moves the calls that wait for target to the ring. Returns true if no call is left in the queue;
 * then the worker has the ring again. */
bool tern_overflow_clear(tern_worker *worker, uint32_t target);

/* Queues a call of so many bytes, and counts it as sent. TERN_ERR_AGAIN: the bound on memory is
 * reached. */
tern_status tern_overflow_push(tern_worker *worker, const tern_outgoing *outgoing, size_t bytes);

/* Moves the calls for which there is room now to the rings, and returns their number. Part of the
 * rpc layer's progress. */
size_t tern_overflow_drain(tern_worker *worker);

/* Lets a service thread do the same for the workers of the application. service: the thread's own
 * worker. */
size_t tern_overflow_assist(tern_worker *service);

/* Returns a rank to which calls wait to be sent, or TERN_NOBODY. Considers only rank, or all ranks
 * if rank is TERN_ANYBODY. */
uint32_t tern_overflow_unsent(const tern_worker *worker, uint32_t rank);

/* Ends a call that was accepted and can never be sent: gives the status and the detail to a wait
 * for the call in this process, and counts the call as executed (rpc/call/lost.c). worker: the
 * worker of this thread; origin: the worker that made the call. */
void tern_call_lost(tern_worker *worker, uint32_t origin, const tern_pending_call *call,
                    tern_status status);

#endif
