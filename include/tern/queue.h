#ifndef TERN_QUEUE_H
#define TERN_QUEUE_H

/*
 * Bounded queue in the segment of one rank, its host (BCL, paper 003). Every rank can push and pop
 * items of one fixed size; items come out in the order in which they were pushed. Any number of
 * producers and consumers may use the queue, and each operation goes either by RMA or by a call to
 * the host; both kinds may work on the same queue at the same time.
 *
 *     promise          operation    RMA
 *     READ_WRITE       push         FAO + W
 *                      try_push     CAS + W
 *                      pop          FAO + R + posted W
 *                      try_pop      CAS + R + posted W
 *     WRITE_ONLY       push         FAO + W
 *     READ_ONLY        pop          FAO + R
 *     LOCAL            all          none
 *     any, by call     all          one round trip, or a share of one in a batch
 *
 * R is a get, W a put, FAO a fetch-and-add, CAS a compare-and-swap. The table holds for a queue
 * that is neither nearly full nor nearly empty, and without contention. In addition a process needs
 * a get or an atomic load now and then to learn which slots are free and which items are there; one
 * of them serves up to 64 pushes, or as many as the queue has slots. If the host shares memory with
 * the caller, all of these are plain loads, stores and processor atomics and cost nothing extra. In
 * a phase, try_push and try_pop cost a CAS in place of the FAO.
 *
 * Which to use: push and pop wait for a free slot or for an item. They hold a ticket while they
 * wait, so the queue serves them in order. try_push and try_pop give exact answers: TERN_ERR_FULL
 * and TERN_ERR_EMPTY were true at one moment of the call, and the queue is unchanged. The timed and
 * the batch operations answer in the same way. In a phase of pushes alone or of pops alone there is
 * nothing to wait for, so push and pop give these exact answers too. If operations break the
 * promise of such a phase, some of them may get wrong answers, and waits may not end.
 *
 * Ordering: the queue is linearizable. If another rank is still writing the oldest item, a pop
 * waits for it and makes progress meanwhile. A push waits in the same way for a slot that another
 * rank is still reading, if no other slot is free. A rank that dies in the middle of an operation,
 * or while it waits in push or pop, blocks the queue. A wait therefore ends with TERN_ERR_PEER as
 * soon as any rank of the context is dead.
 *
 * Workers: any worker of the context may use the queue, several at the same time, except for the
 * collective functions. At the host, an operation by call is done in place and makes progress. On
 * other ranks it takes one of the worker's TERN_CALL_REQUESTS; it returns TERN_ERR_AGAIN if the
 * program holds them all.
 *
 * Handlers: operations by RMA are allowed if the host shares memory with the caller. Where they
 * would have to wait they return TERN_ERR_AGAIN, and the queue is unchanged. At the host,
 * operations by call are allowed too, since they are done in place. Everything else returns
 * TERN_ERR_STATE.
 */

#include "tern/container.h"
#include "tern/context.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A queue that one rank keeps. Its members are tern's own. */
typedef struct tern_queue tern_queue;

/* Options of tern_queue_create. A zeroed field takes the default in brackets. */
typedef struct tern_queue_options {
    uint32_t host;     /* the rank whose segment holds the queue */
    size_t item_bytes; /* 1 to 65,536; by call, an item can be popped up to TERN_RESULT_MAX
                          and pushed up to TERN_RING_SIZE / 2 - 96 */
    uint64_t capacity; /* items, 1 or more; a power of two is fastest */
    int call_only;     /* 1: no operation will use TERN_BY_RMA (tern/hashtable.h) [0] */
} tern_queue_options;

/** Creates a queue. Calls to it go to the host's worker that creates it, or to the host's service
 * threads if there are any (tern/context.h).
 *
 * @param worker the calling worker
 * @param options the same on every rank
 * @param[out] queue the queue; the caller destroys it with tern_queue_destroy
 * @return TERN_OK; TERN_ERR_ARGUMENT if an option is out of range; TERN_ERR_MISMATCH if the options
 *     differ between ranks; TERN_ERR_MEMORY if the host's segment has no room (TERN_SEGMENT_SIZE);
 *     TERN_ERR_UNSUPPORTED if call_only is 1 and an item is larger than TERN_RESULT_MAX;
 *     TERN_ERR_STATE in a handler; TERN_ERR_PEER if a rank died. After TERN_ERR_PEER other ranks
 *     may have the queue, and the host then keeps the queue's memory for them.
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_queue_create(tern_worker *worker,
                                                      const tern_queue_options *options,
                                                      tern_queue **queue);

/** Frees the queue. NULL is allowed. Every operation must have returned on every rank, and every
 * worker but the calling one must have flushed its own (tern_flush_all). The call first completes
 * requests of the calling worker that are under way by RMA. Requests of other workers, and calls,
 * must be complete.
 *
 * @return TERN_OK; TERN_ERR_PEER if a rank died, and then the queue is gone all the same;
 *     TERN_ERR_STATE in a handler, or if another worker of the process has requests under way by
 *     RMA: have it wait for them, and destroy the queue then; TERN_ERR_MISMATCH if the other ranks
 *     are in another collective function; TERN_ERR_ARGUMENT. After these the queue is as it was
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_queue_destroy(tern_worker *worker, tern_queue *queue);

/** Appends a copy of an item, and waits until there is a free slot.
 *
 * @param worker the calling worker
 * @param queue the queue
 * @param item item_bytes bytes, which are copied
 * @param flags a promise and a path, or 0 (tern/container.h)
 * @return TERN_OK; TERN_ERR_FULL, in a phase of pushes or with TERN_LOCAL, if capacity
 *     items are in the queue; TERN_ERR_UNSUPPORTED if the queue is call_only and flags have
 *     TERN_BY_RMA, or the item is too large for a call; TERN_ERR_ARGUMENT, also for
 *     TERN_LOCAL on a rank that is not the host; TERN_ERR_AGAIN or TERN_ERR_STATE as said
 *     above; TERN_ERR_MEMORY if there was no memory for a copy; TERN_ERR_PEER if a rank died while
 *     the call waited
 *
 * Blocking: until there is a free slot. By call, the caller asks the host again and again. */
TERN_NODISCARD TERN_API tern_status tern_queue_push(tern_worker *worker, tern_queue *queue,
                                                    const void *item, tern_flags flags);

/** Takes the oldest item, and waits until there is one.
 *
 * @param[out] item room for item_bytes bytes
 * @return TERN_ERR_EMPTY, in a phase of pops or with TERN_LOCAL, if there is no item;
 *     otherwise the statuses of tern_queue_push, without TERN_ERR_FULL
 *
 * Blocking: until there is an item. */
TERN_NODISCARD TERN_API tern_status tern_queue_pop(tern_worker *worker, tern_queue *queue,
                                                   void *item, tern_flags flags);

/** Appends an item as tern_queue_push does, but if no slot is free it returns TERN_ERR_FULL at
 * once. */
TERN_NODISCARD TERN_API tern_status tern_queue_try_push(tern_worker *worker, tern_queue *queue,
                                                        const void *item, tern_flags flags);
/** Takes an item as tern_queue_pop does, but if there is no item it returns TERN_ERR_EMPTY at once.
 */
TERN_NODISCARD TERN_API tern_status tern_queue_try_pop(tern_worker *worker, tern_queue *queue,
                                                       void *item, tern_flags flags);

/** Appends a copy of an item as tern_queue_push does, with a time limit.
 *
 * @param seconds the longest time to wait, 0 or more
 * @return TERN_ERR_TIMEOUT if the time is over, and then nothing was pushed; otherwise the statuses
 *     of tern_queue_push
 *
 * Blocking: at most seconds. By call, and while the transport completes a step, the call may return
 * later by one round trip. */
TERN_NODISCARD TERN_API tern_status tern_queue_push_timed(tern_worker *worker, tern_queue *queue,
                                                          const void *item, double seconds,
                                                          tern_flags flags);

/** Takes the oldest item as tern_queue_pop does, with the time limit of tern_queue_push_timed. */
TERN_NODISCARD TERN_API tern_status tern_queue_pop_timed(tern_worker *worker, tern_queue *queue,
                                                         void *item, double seconds,
                                                         tern_flags flags);

/** Appends copies of as many of the items as fit, from the first on, without waiting for free
 * slots.
 *
 * @param items count items, one behind the other
 * @param count number of items; may be 0
 * @param[out] pushed number of items pushed, set on an error too
 * @return TERN_OK, also if only some items fit; TERN_ERR_FULL if none fits; otherwise the statuses
 *     of tern_queue_try_push
 *
 * Cost: one reservation for all items that fit, so that they stay together. By call, one message,
 * and so one reservation, for each 4 KiB. */
TERN_NODISCARD TERN_API tern_status tern_queue_push_many(tern_worker *worker, tern_queue *queue,
                                                         const void *items, size_t count,
                                                         tern_flags flags, size_t *pushed);

/** Takes the oldest items, up to count of them, without waiting for items.
 *
 * @param[out] items room for count items
 * @param count the largest number of items to take; may be 0
 * @param[out] popped number of items popped, set on an error too
 * @return TERN_OK, also for fewer than count items; TERN_ERR_EMPTY if the queue is empty; otherwise
 *     the statuses of tern_queue_try_pop
 *
 * Cost: one reservation for each piece of 8 KiB of slots that does not wrap around. By call, one
 * for each TERN_RESULT_MAX bytes. */
TERN_NODISCARD TERN_API tern_status tern_queue_pop_many(tern_worker *worker, tern_queue *queue,
                                                        void *items, size_t count, tern_flags flags,
                                                        size_t *popped);

/** Returns the number of items now in the queue. The number is exact while nobody pushes or pops.
 *
 * @param[out] count number of items
 * @return TERN_OK; TERN_ERR_ARGUMENT; the statuses of tern_atomic_load
 *
 * Cost: two atomic loads by RMA, even if the queue is call_only. */
TERN_NODISCARD TERN_API tern_status tern_queue_size(tern_worker *worker, tern_queue *queue,
                                                    uint64_t *count);

/** Explains which path this worker's operations by TERN_AUTO on the queue take, and why.
 * Parameters, text and statuses are those of tern_hashtable_explain; the rank is the host. */
TERN_NODISCARD TERN_API tern_status tern_queue_explain(const tern_worker *worker,
                                                       const tern_queue *queue, char *text,
                                                       size_t room, size_t *bytes);

/* How many pushes, and how many pops, a worker may have under way by RMA on one queue, as requests
 * (tern/request.h); by call up to TERN_CALL_REQUESTS in all. Each is tern_queue_try_push or
 * tern_queue_try_pop and takes effect at some moment between its start and its end. Requests of one
 * worker, of one kind and by one path take effect in the order of their starts: items are pushed in
 * that order, and the item that is popped first goes to the pop that was started first. Other
 * operations of the worker may overtake them. By call the call is the request; by RMA it is a chain
 * of gets, atomics and puts that do not block, and several requests that are under way together
 * share it. Where load/store reaches the queue an operation is done when its start returns, unless
 * it has to wait for another rank.
 *
 *     tern_request request[16] = {0};
 *     for (size_t i = 0; i < 16 && status == TERN_OK; i++)
 *         status = tern_queue_push_start(worker, queue, &item[i], 0, &request[i]);
 *     ...
 *     status = tern_wait_all(worker, request, 16);
 *
 * The outcome, beside TERN_OK: TERN_ERR_FULL or TERN_ERR_EMPTY, and then nothing was pushed or
 * popped; TERN_ERR_PEER: a rank has died, and the item of a push may or may not be in the queue; if
 * the host has died the item of a pop is lost. Other errors are those of the blocking operation.
 *
 * Progress. Requests by RMA go on in the progress of the worker that started them: in tern_progress
 * and in every call of tern that waits, whatever it waits for. A request never holds a place in the
 * queue while it waits for another rank, so other ranks do not depend on the program waiting for
 * it. Progress completes a request for which nobody waits, too. Over a network a caller that makes
 * no progress may delay other ranks that need the item, or the slot, which its request has begun to
 * push or to pop.
 *
 * With TERN_AUTO a request takes the path that blocking operations take, or RMA before the first
 * blocking operation: requests do not measure costs and are not timed.
 *
 * A distributed queue (tern/distributed_queue.h) has no such operations, because the answer of one
 * part decides which part is next. Its parts are queues, and take requests;
 * tern_distributed_queue_hold counts their items for the end of the work. */
#define TERN_QUEUE_REQUESTS 64u

/** Starts a push.
 *
 * @param worker the calling worker
 * @param queue the queue
 * @param item item_bytes bytes, which have to stay as they are until the request is complete
 * @param flags a promise and a path, or 0 (tern/container.h). With a promise, the request has to be
 *     complete before the barrier that ends the phase
 * @param request zeroed or complete; it is under way then
 * @return TERN_OK, and tern_wait tells the outcome; otherwise nothing was started, and the request
 *     is as it was: TERN_ERR_AGAIN if the worker has as many under way as it may have: wait for
 *     one; TERN_ERR_ARGUMENT, also if the request is under way; TERN_ERR_UNSUPPORTED as of
 *     tern_queue_push; TERN_ERR_MEMORY: the first request of a worker on a queue allocates room for
 *     all; TERN_ERR_PEER if the host is known to be dead; TERN_ERR_STATE in a handler, where only
 *     what load/store reaches may be started by RMA
 *
 * Blocking: may wait for a ring or a message buffer, with progress; never for the outcome. */
TERN_NODISCARD TERN_API tern_status tern_queue_push_start(tern_worker *worker, tern_queue *queue,
                                                          const void *item, tern_flags flags,
                                                          tern_request *request);

/** Starts a pop. Parameters and statuses are those of tern_queue_push_start.
 *
 * @param[out] item room for item_bytes bytes, which belongs to tern until the request is complete;
 *     it is written if there was an item. tern_request_result is item_bytes then */
TERN_NODISCARD TERN_API tern_status tern_queue_pop_start(tern_worker *worker, tern_queue *queue,
                                                         void *item, tern_flags flags,
                                                         tern_request *request);

#ifdef __cplusplus
}
#endif

#endif
