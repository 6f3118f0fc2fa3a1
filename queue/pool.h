#ifndef TERN_QUEUE_POOL_H
#define TERN_QUEUE_POOL_H

/*
 * Requests by RMA. Each worker that has started one has a pool for the queue, with a line of pushes
 * and a line of pops, each in the order of their starts. One op at a time serves a line: the
 * requests that stand in the line with one promise when the op begins. It draws as many tickets as
 * it can use by one compare-and-swap, and these go to the first requests; the rest stay in the
 * line. If it finds the queue full, or empty, all requests that it serves end with this outcome,
 * since they were started before it looked.
 *
 * So requests of one worker take tickets in the order of their starts, and many of them cost few
 * trips. If each had an op of its own, their compare-and-swaps would compete, and only one would
 * succeed.
 *
 * Only its worker uses a pool. The start of a request and the worker's progress step it. A request
 * owns a ticket from the compare-and-swap on. The op's next step uses the ticket and waits for no
 * other rank. Over a network that step is in the worker's progress. Until then an operation of
 * another rank that comes to the ticket waits for this rank, as it waits for an item that
 * tern_queue_push has put and MPI still holds back.
 */

#include "queue/op.h"
#include "tern/queue.h"

/* Starts a request in the pool of op's worker. op: has all its arguments, and one item. The request
 * ends at once if nothing is in its way. TERN_ERR_AGAIN: the line is full; TERN_ERR_MEMORY;
 * TERN_ERR_PEER. */
tern_status tern_queue_pool_start(const tern_queue_op *op, tern_request *request);

/* For a queue that is to be destroyed: makes progress until none of this worker's requests is under
 * way. TERN_ERR_STATE: another worker of the process has requests under way. */
tern_status tern_queue_pools_drain(tern_worker *worker, tern_queue *queue, const char *name);
/* Frees the pools of all workers, except memory that the network may still write to. */
void tern_queue_pools_free(tern_queue *queue);

#endif
