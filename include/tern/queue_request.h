#ifndef TERN_QUEUE_REQUEST_H
#define TERN_QUEUE_REQUEST_H

/*
 * Operations on a queue (tern/queue.h) that start and return, with a request (tern/request.h). Each
 * is tern_queue_try_push or tern_queue_try_pop and takes effect at some moment between its start
 * and its end. Those of one worker and one kind that go one way take effect in the order of their
 * starts: items are pushed in that order, and what is popped first goes to the pop that was started
 * first. Other operations of the worker may overtake them. By call the call is the request; by RMA
 * it is a chain of gets, atomics and puts that do not block, and several requests that are under
 * way together share it. Where load/store reaches the queue an operation is done when its start
 * returns, unless another rank is in its way.
 *
 *     tern_request request[16] = {0};
 *     for (size_t i = 0; i < 16 && status == TERN_OK; i++)
 *         status = tern_queue_push_start(worker, queue, &item[i], 0, &request[i]);
 *     ...
 *     status = tern_wait_all(worker, request, 16);
 *
 * The outcome, beside TERN_OK: TERN_ERR_FULL or TERN_ERR_EMPTY, and then nothing was pushed or
 * popped; TERN_ERR_PEER: a rank has died, and an item of a push may or may not be in the queue; of
 * a pop it is lost with a host that has died; other errors as of the blocking operation.
 *
 * Progress. What is under way by RMA goes on in the progress of the worker that started it: in
 * tern_progress and in every call of tern that waits, whatever for. A request never holds a place
 * in the queue while it waits for another rank: no request has to be waited for to let others go
 * on. One that nobody waits for is done by progress all the same. Over a network a caller that
 * makes no progress may delay others that come to an item, or to a slot, that its request has
 * begun to push, or to pop.
 *
 * TERN_AUTO takes the way that blocking operations take, or RMA before the first of them:
 * requests measure nothing and are not timed.
 *
 * A distributed queue (tern/distributed_queue.h) has no such operations: which part they would go
 * to depends on what the parts before have answered. Its parts are queues, and take requests;
 * tern_distributed_queue_hold counts their items for the end of the work.
 */

#include "tern/queue.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many pushes, and how many pops, a worker may have under way by RMA on one queue; by call up
 * to TERN_CALL_REQUESTS in all. */
#define TERN_QUEUE_REQUESTS 64u

/** Starts a push.
 *
 * @param worker the calling worker
 * @param queue the queue
 * @param item item_bytes bytes, which have to stay as they are until the request is complete
 * @param flags a promise and a way, or 0 (tern/flags.h). With a promise, the request has to be
 *     complete before the barrier that ends the phase
 * @param request zeroed or complete; it is under way then
 * @return TERN_OK, and tern_wait tells the outcome; otherwise nothing was started, and the request
 *     is as it was: TERN_ERR_AGAIN if as many as can be are under way, wait for one;
 *     TERN_ERR_ARGUMENT, also if the request is under way; TERN_ERR_UNSUPPORTED as of
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
