#ifndef TERN_DISTRIBUTED_QUEUE_H
#define TERN_DISTRIBUTED_QUEUE_H

/*
 * Distributed queue: one bounded queue, a part, in the segment of each rank. A rank pushes to its
 * own part or to another's: tern_distributed_queue_part returns a part, and tern/queue.h has the
 * operations. A rank pops from its own part first. If that is empty, the rank steals from the
 * others, beginning at a rank chosen at random. Items of one part come out in order; between parts
 * there is no order.
 *
 * Full and empty: TERN_ERR_EMPTY means that the call found every part empty at some moment, but not
 * all at the same moment. It misses an item that is pushed to a part after the call has looked
 * there, and items that other ranks have popped and still work on are in no part. TERN_ERR_FULL
 * means the same of parts that are full.
 *
 * The end of the work: tern_distributed_queue_pop and _pop_timed wait for items until all work is
 * done, and then return TERN_ERR_DONE on every rank. A worker works on the items that it has popped
 * until it pops again from the distributed queue. All work is done when no item is in a part,
 * nobody works on one, nobody holds the queue (tern_distributed_queue_hold), and every rank waits
 * in one of the two. Each rank pushes its first items, and then pops until it gets TERN_ERR_DONE:
 *
 *     while ((status = tern_distributed_queue_pop(worker, queue, &item, 0)) == TERN_OK)
 *         work(&item);            // may push items
 *     // status is TERN_ERR_DONE
 *
 * So a worker pushes only while it works on an item, while it holds the queue, or before its rank
 * pops for the first time. If a handler pushes, the worker that calls it works on until the call
 * has completed. After TERN_ERR_TIMEOUT a worker has nothing to work on. Items count however they
 * are pushed, also to a part. They are finished only by pops from the distributed queue: an item
 * that tern_queue_pop takes from a part is work that never ends. After the end the queue can be
 * used again. A barrier then keeps the items of the next work from workers that have not seen the
 * end yet. Until these have seen it, they may look for items at other ranks by call: so go on with
 * tern_barrier, and not with a wait in MPI (tern/progress.h). Each worker that pops gets
 * TERN_ERR_DONE once for each end, also for those it came late for.
 *
 * Cost: with TERN_BY_RMA, operations on the own part are loads and stores; operations on another
 * rank's part cost what tern/queue.h says. A push to a part of another node that has room, and to
 * which nobody else pushes, waits for one atomic, and for a get once per generation, which is as
 * many pushes as the part has slots. Each part that is found empty or full costs one look at it. A
 * steal of several items costs two atomic loads more. A worker that waits looks at its own part and
 * at one other at a time. While all ranks wait, each sends a message to its parent in a tree and up
 * to eight to its children, again and again; to find the end takes two such rounds, each of which
 * takes messages in the logarithm of the ranks one after the other. These messages go to the worker
 * to which calls to a part go, so that worker has to make progress.
 */

#include "tern/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A queue with a part at each rank. Its members are tern's own. */
typedef struct tern_distributed_queue tern_distributed_queue;

/** Creates a distributed queue.
 *
 * @param worker the calling worker
 * @param options the options of each part, the same on every rank; host is not used
 * @param[out] queue the queue; the caller destroys it with tern_distributed_queue_destroy
 * @return the statuses of tern_queue_create
 *
 * Calls to a part go to the same worker as those to a queue that the part's rank hosts.
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_create(tern_worker *worker,
                                                                  const tern_queue_options *options,
                                                                  tern_distributed_queue **queue);
/** Frees the queue. NULL is allowed. Conditions, statuses and blocking are those of
 * tern_queue_destroy. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_destroy(tern_worker *worker,
                                                                   tern_distributed_queue *queue);

/** Returns the part of a rank, for every operation of tern/queue.h, such as pushes, waits and
 * batches.
 *
 * @param[out] part the part, which belongs to the queue; tern_queue_destroy refuses it
 * @return TERN_OK; TERN_ERR_ARGUMENT if there is no such rank, or queue or part is NULL
 *
 * Blocking: never. Any thread may call it. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_part(tern_distributed_queue *queue,
                                                                uint32_t rank, tern_queue **part);

/** Takes up to count items of the own part. If that is empty, takes items of the first other part
 * that has any, at most half of them, rounded up.
 *
 * @param[out] items room for count items
 * @param[out] popped number of items popped
 * @param flags with TERN_LOCAL only the own part is looked at, and each rank promises
 *     this for its own part
 * @return TERN_OK; TERN_ERR_EMPTY as explained above; TERN_ERR_PEER if a part cannot be reached;
 *     otherwise the statuses of tern_queue_pop_many
 *
 * Blocking: does not wait for items. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_pop_many(tern_worker *worker,
                                                                    tern_distributed_queue *queue,
                                                                    void *items, size_t count,
                                                                    tern_flags flags,
                                                                    size_t *popped);
/** Takes one item as tern_distributed_queue_pop_many does. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_try_pop(tern_worker *worker,
                                                                   tern_distributed_queue *queue,
                                                                   void *item, tern_flags flags);

/** Takes an item as tern_distributed_queue_try_pop does, and waits for one until all work is done.
 *
 * @param[out] item room for item_bytes bytes
 * @param flags a path, or 0; a phase has nothing to wait for
 * @return TERN_OK; TERN_ERR_DONE as explained above; TERN_ERR_STATE in a handler; TERN_ERR_PEER if
 *     any rank is dead; otherwise the statuses of tern_queue_try_pop, without TERN_ERR_EMPTY
 *
 * Blocking: until there is an item, or all work is done. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_pop(tern_worker *worker,
                                                               tern_distributed_queue *queue,
                                                               void *item, tern_flags flags);
/** Takes up to count items as tern_distributed_queue_pop_many does, and waits for one until all
 * work is done, or for some time.
 *
 * @param[out] items room for count items, at least 1
 * @param seconds the longest time to wait, 0 or more
 * @param[out] popped number of items popped
 * @return TERN_ERR_TIMEOUT if the time is over, and then nothing was popped; otherwise the statuses
 *     of tern_distributed_queue_pop
 *
 * Blocking: at most seconds, and by call a round trip longer. */
TERN_NODISCARD TERN_API tern_status
tern_distributed_queue_pop_timed(tern_worker *worker, tern_distributed_queue *queue, void *items,
                                 size_t count, double seconds, tern_flags flags, size_t *popped);

/** Appends copies of as many of the items as fit: to the own part, and what does not fit there to
 * others, beginning at a rank chosen at random.
 *
 * @param items count items, one behind the other
 * @param flags with TERN_LOCAL only the own part is used
 * @param[out] pushed number of items pushed, set on an error too
 * @return TERN_OK if any item was pushed; TERN_ERR_FULL as explained above; TERN_ERR_PEER if a part
 *     cannot be reached; otherwise the statuses of tern_queue_push_many
 *
 * Blocking: does not wait for free slots. If all ranks waited for one, nobody would pop; do some of
 * the work instead. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_push_many(tern_worker *worker,
                                                                     tern_distributed_queue *queue,
                                                                     const void *items,
                                                                     size_t count, tern_flags flags,
                                                                     size_t *pushed);
/** Appends one item as tern_distributed_queue_push_many does. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_try_push(tern_worker *worker,
                                                                    tern_distributed_queue *queue,
                                                                    const void *item,
                                                                    tern_flags flags);

/** Keeps the work from ending, as if the caller had popped an item, until somebody calls
 * tern_distributed_queue_release as often, on any rank. For items that are in another queue, or in
 * a message, and for workers that push without having popped.
 *
 * @return TERN_OK; TERN_ERR_ARGUMENT
 *
 * Blocking: never; allowed in handlers. Cost: one atomic of the processor. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_hold(tern_worker *worker,
                                                                tern_distributed_queue *queue);
/** Ends a hold. What the caller has pushed before counts as pushed under the hold. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_release(tern_worker *worker,
                                                                   tern_distributed_queue *queue);

/** Returns the sum of tern_queue_size over all parts. The sum is exact while nobody pushes or pops.
 */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_size(tern_worker *worker,
                                                                tern_distributed_queue *queue,
                                                                uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
