#ifndef TERN_DISTRIBUTED_QUEUE_H
#define TERN_DISTRIBUTED_QUEUE_H

/*
 * Distributed queue: one bounded queue, a part, in the segment of each rank. A rank pushes to its
 * own part or to another's: tern_distributed_queue_part returns a part, and tern/queue.h has the
 * operations. A rank pops from its own part first. If that is empty, the rank steals from the
 * others, beginning at a rank chosen at random. Items of one part come out in order; between parts
 * there is no order.
 *
 * TERN_ERR_EMPTY means that the call found every part empty at some moment, but not all at the same
 * moment. It misses an item that is pushed to a part after the call has looked there, and items
 * that other ranks have popped and still work on are in no part. So the program itself has to find
 * out whether all work is done: it counts what was pushed and done, or it calls tern_quiesce and
 * lets the ranks vote once each of them finds the queue empty.
 *
 * Cost: with TERN_BY_RMA, operations on the own part are loads and stores; operations on another
 * rank's part cost what tern/queue.h says. Each part that is found empty costs one look at it. A
 * steal of several items costs two atomic loads more.
 */

#include "tern/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/** tern_distributed_queue_pop_many for one item. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_try_pop(tern_worker *worker,
                                                                   tern_distributed_queue *queue,
                                                                   void *item, tern_flags flags);

/** Returns the sum of tern_queue_size over all parts. The sum is exact while nobody pushes or pops.
 */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_size(tern_worker *worker,
                                                                tern_distributed_queue *queue,
                                                                uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
