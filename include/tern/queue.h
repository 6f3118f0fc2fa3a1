#ifndef TERN_QUEUE_H
#define TERN_QUEUE_H

/*
 * Hosted bounded queue (BCL, paper 003): lies in the segment of one rank, takes items of
 * a fixed size from every rank and hands them out in the order in which they were pushed. Any
 * number of producers and consumers; every operation by RMA or by a call to the host, on the same
 * queue at the same time.
 *
 *     promise          operation    RMA                    classic                  checksum
 *     READ_WRITE       push         FAO + W                FAO + W + CAS            FAO + W
 *                      try_push     CAS + W                CAS + W + CAS            CAS + W
 *                      pop          FAO + R + posted W     FAO + R + CAS            CAS + R
 *                      try_pop      CAS + R + posted W     CAS + R + CAS            CAS + R
 *     WRITE_ONLY       push         FAO + W                the same                 the same
 *     READ_ONLY        pop          FAO + R                the same                 the same
 *     LOCAL            all          none                   none                     none
 *     any, by call     all          one round trip, or a share of one in a batch
 *
 * (R a get, W a put, FAO a fetch-and-add, CAS a compare-and-swap, for a queue away from its limits
 * and without contention. What is known of free slots, and of items that are there, is kept: a get
 * or an atomic load now and then, of up to 64 pushes or a whole lap. What load/store reaches costs
 * none of them. In a phase, try_push and try_pop cost CAS instead of FAO.)
 *
 * Which to use: push and pop wait for room and for an item; they hold a ticket while they do, and
 * so are served in order. try_push and try_pop give exact answers: TERN_ERR_FULL and TERN_ERR_EMPTY
 * are true at one moment of the call, and nothing was changed. The others are like these, with
 * a time to wait or for many items. In a phase of pushes or of pops alone nothing is to be waited
 * for, and push and pop give these exact answers too; of those that break the promise, some may be
 * answered wrong, and waits may not end.
 *
 * Linearizable. An item that another rank is just pushing is waited for, with progress, if it is
 * the oldest; so is the slot of one that is just being popped, if there is no other. A rank that
 * dies in between, or while it waits in push or pop, blocks the queue: who waits gets TERN_ERR_PEER
 * when any rank of the context is dead. At the host, an operation by call is done in place, and
 * makes progress; elsewhere it takes one of the worker's TERN_FUTURES, and is TERN_ERR_AGAIN if the
 * program holds them all. Any worker of the context may use the queue, several at once, but for
 * what is collective.
 *
 * In handlers: by RMA where load/store reaches the host, with TERN_ERR_AGAIN in place of a wait,
 * nothing changed; at the host by call too, which is done in place. All else is TERN_ERR_STATE.
 */

#include "tern/context.h"
#include "tern/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_queue tern_queue;

/* Zeroed fields take the defaults in brackets. */
typedef struct tern_queue_options {
    uint32_t host;            /* rank that holds it */
    size_t item_bytes;        /* 1 to 65,536; by call: popped up to TERN_RESULT_MAX, pushed up to
                                 TERN_RING_SIZE / 2 - 88 */
    uint64_t capacity;        /* items; 1 or more, any number, but a power of two is quickest */
    int call_only;            /* as in tern_hashtable_options [0] */
    tern_algorithm algorithm; /* [TERN_ALGO_IMPROVED] */
} tern_queue_options;

/* Collective over the ranks, one worker of each; blocks. Calls go to the host's worker, or to the
 * host's service threads if there are any (tern/context.h). Errors as tern_hashtable_create; after
 * TERN_ERR_PEER it is a host's part that may stay with others. */
TERN_NODISCARD TERN_API tern_status tern_queue_create(tern_worker *worker,
                                                      const tern_queue_options *options,
                                                      tern_queue **queue);
/* Collective; every operation must have returned everywhere, and workers other than the one that
 * calls this have flushed theirs (tern_flush_all). NULL is fine. The queue is gone even
 * where the status is TERN_ERR_PEER. TERN_ERR_MISMATCH: the other ranks are in another collective
 * function; the queue stays as it was. */
TERN_NODISCARD TERN_API tern_status tern_queue_destroy(tern_worker *worker, tern_queue *queue);

/* Appends a copy of item, once there is room. By call, the host is asked again and again.
 * TERN_ERR_FULL, in a phase of pushes or TERN_PROMISE_LOCAL: capacity items are in the queue;
 * nothing was pushed. TERN_ERR_UNSUPPORTED: the queue is call_only and via is TERN_VIA_RMA, or the
 * item is too large for a call. TERN_ERR_ARGUMENT: also TERN_PROMISE_LOCAL on a rank that is not
 * the host. TERN_ERR_PEER: a rank died while this one waited. */
TERN_NODISCARD TERN_API tern_status tern_queue_push(tern_worker *worker, tern_queue *queue,
                                                    const void *item, tern_promise promise,
                                                    tern_via via);

/* [out] item: the oldest, once there is one. TERN_ERR_EMPTY, in a phase of pops or
 * TERN_PROMISE_LOCAL: there is none. Other errors as push. */
TERN_NODISCARD TERN_API tern_status tern_queue_pop(tern_worker *worker, tern_queue *queue,
                                                   void *item, tern_promise promise, tern_via via);

/* The same without waiting for room or an item: TERN_ERR_FULL, TERN_ERR_EMPTY at once. */
TERN_NODISCARD TERN_API tern_status tern_queue_try_push(tern_worker *worker, tern_queue *queue,
                                                        const void *item, tern_promise promise,
                                                        tern_via via);
TERN_NODISCARD TERN_API tern_status tern_queue_try_pop(tern_worker *worker, tern_queue *queue,
                                                       void *item, tern_promise promise,
                                                       tern_via via);

/* The same waiting so many seconds at most, 0 or more. TERN_ERR_TIMEOUT: nothing was pushed or
 * popped. By call, and in steps of the transport, the end may be late by a round trip. */
TERN_NODISCARD TERN_API tern_status tern_queue_push_within(tern_worker *worker, tern_queue *queue,
                                                           const void *item, double seconds,
                                                           tern_promise promise, tern_via via);
TERN_NODISCARD TERN_API tern_status tern_queue_pop_within(tern_worker *worker, tern_queue *queue,
                                                          void *item, double seconds,
                                                          tern_promise promise, tern_via via);

/* Batches, without waiting. Appends copies of the first items, as many as fit; one reservation for
 * all that there is room for, so that they stay together, but by call one message, and so one
 * reservation, for each 4 KiB.
 * [out] pushed: how many, on an error too; fewer than count, with TERN_OK, if only some fit.
 * TERN_ERR_FULL: none fits. Count may be 0. */
TERN_NODISCARD TERN_API tern_status tern_queue_push_many(tern_worker *worker, tern_queue *queue,
                                                         const void *items, size_t count,
                                                         tern_promise promise, tern_via via,
                                                         size_t *pushed);
/* [out] items, popped: the oldest, up to count of them. One reservation for those that lie in one
 * piece of 8 KiB and do not wrap, by call for TERN_RESULT_MAX bytes. TERN_ERR_EMPTY: there is none.
 * Otherwise as push_many. */
TERN_NODISCARD TERN_API tern_status tern_queue_pop_many(tern_worker *worker, tern_queue *queue,
                                                        void *items, size_t count,
                                                        tern_promise promise, tern_via via,
                                                        size_t *popped);

/* [out] count: items now in the queue; exact when nobody pushes or pops. By RMA, whatever the
 * queue. */
TERN_NODISCARD TERN_API tern_status tern_queue_size(tern_worker *worker, tern_queue *queue,
                                                    uint64_t *count);

/* Explains which way this worker's operations by TERN_VIA_AUTO on the queue go, and why: the same
 * as tern_hashtable_explain, of the rank that holds the queue. */
TERN_NODISCARD TERN_API tern_status tern_queue_explain(const tern_worker *worker,
                                                       const tern_queue *queue, char *text,
                                                       size_t room, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
