#ifndef TERN_DISTRIBUTED_QUEUE_H
#define TERN_DISTRIBUTED_QUEUE_H

/*
 * Distributed queue: one bounded queue in each rank's segment, its part. Everybody pushes to its
 * own part or to another's (tern_distributed_queue_part, and then tern/queue.h), and pops from its
 * own first; who finds that empty steals from the others, from a rank chosen at random on. Items of
 * one part come out in their order; between parts there is none.
 *
 * Empty, for the whole, means that each part was found empty at one moment of the call, not all at
 * the same: items pushed meanwhile to a part that had been looked at are missed, and what others
 * hold in their hands is in no part. So whether work is over is for the program to find out: by
 * counting what was pushed and done, or by tern_quiesce and a vote once everybody finds it empty.
 *
 * Costs: of an own part by TERN_VIA_RMA, load and store; of another's, what tern/queue.h says. A
 * part that is found empty costs a look at it, and a steal of several an atomic load or two more.
 */

#include "tern/queue.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_distributed_queue tern_distributed_queue;

/* Collective over the ranks, one worker of each; blocks. Options are those of a part; host is not
 * used. Calls to a part go where those to a queue of that host would. Errors as tern_queue_create.
 */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_create(tern_worker *worker,
                                                                  const tern_queue_options *options,
                                                                  tern_distributed_queue **queue);
/* Collective, as tern_queue_destroy. NULL is fine. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_destroy(tern_worker *worker,
                                                                   tern_distributed_queue *queue);

/* [out] part: that of rank, for every operation of tern/queue.h: pushes, waits, batches. It belongs
 * to the queue; tern_queue_destroy refuses it. TERN_ERR_ARGUMENT: no such rank. Any thread, never
 * blocks. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_part(tern_distributed_queue *queue,
                                                                uint32_t rank, tern_queue **part);

/* [out] items, popped: up to count items of the own part, or else, of the first other part that has
 * any, half of them at most, rounded up. Does not wait. TERN_ERR_EMPTY: see above. With
 * TERN_PROMISE_LOCAL, only the own part is looked at; the promise is about each rank's own then.
 * Other errors as tern_queue_pop_many; TERN_ERR_PEER from a part that is out of reach. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_pop_many(tern_worker *worker,
                                                                    tern_distributed_queue *queue,
                                                                    void *items, size_t count,
                                                                    tern_promise promise,
                                                                    tern_via via, size_t *popped);
/* [out] item: the same for one. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_try_pop(tern_worker *worker,
                                                                   tern_distributed_queue *queue,
                                                                   void *item, tern_promise promise,
                                                                   tern_via via);

/* [out] count: the sum of tern_queue_size over all parts; exact when nobody pushes or pops. */
TERN_NODISCARD TERN_API tern_status tern_distributed_queue_size(tern_worker *worker,
                                                                tern_distributed_queue *queue,
                                                                uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
