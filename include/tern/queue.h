#ifndef TERN_QUEUE_H
#define TERN_QUEUE_H

/*
 * Hosted bounded queue (BCL, paper 003; design 10): lies in the segment of one rank, takes items of
 * a fixed size from every rank and hands them out in the order in which they were pushed. Full and
 * empty are exact answers. Every operation can be done by RMA or by a call to the host, on the same
 * queue at the same time.
 *
 *     operation    RMA                    by call
 *     push         CAS + W                one round trip
 *     pop          R + CAS + posted W     one round trip
 *     pop, empty   R + A; phase: R        one round trip
 *
 * (R a get, W a put, A an atomic; away from limits: every 64 pushes at most, a get tells which
 * slots have come free. What load/store reaches costs none of them.)
 *
 * Linearizable. An item that another rank is just pushing is waited for, with progress, if it is
 * the oldest; so is the slot of one that is just being popped, if there is no other. A rank that
 * dies in between blocks the queue: who waits gets TERN_ERR_PEER when any rank of the context is
 * dead. In handlers, operations by RMA are TERN_ERR_AGAIN instead of waiting, nothing changed, and
 * over transports that wait, as all operations by call, TERN_ERR_STATE. At the host, an operation
 * by call is done in place, and makes progress; elsewhere it takes one of the worker's
 * TERN_FUTURES, and is TERN_ERR_AGAIN if the program holds them all.
 */

#include "tern/context.h"
#include "tern/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_queue tern_queue;

/* Zeroed fields take the defaults in brackets. */
typedef struct tern_queue_options {
    uint32_t host;     /* rank that holds it */
    size_t item_bytes; /* 1 to 65,536; by call: popped up to TERN_RESULT_MAX, pushed up to
                          TERN_RING_SIZE / 2 - 80 */
    uint64_t capacity; /* items; 1 or more, any number */
    int call_only;     /* as in tern_hashtable_options [0] */
} tern_queue_options;

/* Collective over the ranks, one worker of each; blocks. The host's worker takes the calls. Errors
 * as tern_hashtable_create. */
TERN_API tern_status tern_queue_create(tern_worker *worker, const tern_queue_options *options,
                                       tern_queue **queue);
/* Collective; every operation must have returned everywhere. NULL is fine. The queue is gone even
 * where the status is TERN_ERR_PEER. */
TERN_API tern_status tern_queue_destroy(tern_worker *worker, tern_queue *queue);

/* Appends a copy of item. TERN_ERR_FULL: capacity items are in the queue; nothing was pushed.
 * TERN_ERR_UNSUPPORTED: the queue is call_only and via is TERN_VIA_RMA, or the item is too large
 * for a call. */
TERN_API tern_status tern_queue_push(tern_worker *worker, tern_queue *queue, const void *item,
                                     tern_promise promise, tern_via via);

/* [out] item: the oldest. TERN_ERR_EMPTY: there is none. TERN_ERR_UNSUPPORTED as above. */
TERN_API tern_status tern_queue_pop(tern_worker *worker, tern_queue *queue, void *item,
                                    tern_promise promise, tern_via via);

/* [out] count: items now in the queue; exact when nobody pushes or pops. By RMA, whatever the
 * queue. */
TERN_API tern_status tern_queue_size(tern_worker *worker, tern_queue *queue, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
