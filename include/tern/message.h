#ifndef TERN_MESSAGE_H
#define TERN_MESSAGE_H

/*
 * Calls by message (Seriema, paper 000, 4.3 and table 1): calls that need no ring between caller
 * and target. So nothing is set up before the first such call or kept after the last. They are for
 * threads that live too short to adopt a worker, and for calls so rare that a ring would waste
 * memory. Each costs a two-sided MPI message, between the ranks of one node too, and so does the
 * result of a thread's call: calls over rings are much faster.
 *
 * They are the calls of tern/call.h, tern/archive.h and tern/remote.h. A worker marks the target of
 * such a call; a thread without a worker passes tern_context_caller() in place of a worker:
 *
 *     status = tern_call_return(worker, tern_by_message(target), &count, text, bytes, &words,
 *                               sizeof words, NULL);
 *     status = mean(tern_context_caller(context), target, values, values_count, &result);
 *
 * Arguments, results, buffers, synchronizers, requests and errors are those of the call over a
 * ring, with these differences:
 *
 * Room. A process has a credit of TERN_MESSAGE_CREDIT_BYTES for calls to each worker that
 * have not run yet; each call takes 64 bytes more than its data. It has a second credit of that
 * size for the calls that its handlers make. So a worker needs no more memory than twice
 * TERN_MESSAGE_CREDIT_BYTES for each process that calls it. A credit that is used up is treated
 * like a full ring, and so is a lack of message buffers while MPI still reads them all. There is no
 * queue: tern_call_queue, and every call in a handler, then return TERN_ERR_AGAIN, as tern_call_try
 * does. A call with more than TERN_MESSAGE_MAX bytes, a buffer inside included, copies its data to
 * this rank's segment, up to TERN_CHUNK_MAX (tern/archive.h); its message is small, and the target
 * gets the data from there. This memory is free when the function has run.
 *
 * Order. Each call runs once. The calls of one thread to one target run in the order in which it
 * made them, and so do the calls that its handlers make. There is no order between these two kinds,
 * nor with calls over rings. Calls of handlers run first. So handlers that answer their callers
 * find room in the end, even if credit is used up; handlers that make a call for each call of
 * another handler may not. While the target gets the data of a call, other calls by message to it
 * wait, also those of other callers; TERN_BUFFER_GET_ASIDE lets them run.
 *
 * Delivery. Any thread of the target's process that asks MPI for messages, such as a service
 * thread, delivers the message to its worker. That worker's own progress runs the function.
 * tern_quiesce and tern_context_destroy know of these calls.
 */

#include "tern/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most data of one message, and the credit of a process for calls to a worker. Each process has
 * posted buffers of TERN_MESSAGE_MAX bytes to which any other process may send; so this bounds the
 * memory that a process keeps for calls from any rank. */
#define TERN_MESSAGE_MAX ((size_t)32 << 10)
#define TERN_MESSAGE_CREDIT_BYTES ((size_t)128 << 10)

/* The index in tern_call_info.origin if a thread without a worker has called: it cannot be called
 * back. */
#define TERN_NO_WORKER UINT32_MAX

/* Not for applications: what tern_by_message adds to an index. */
#define TERN_INTERNAL_BY_MESSAGE ((uint32_t)1 << 31)

/* Returns target marked for calls by message. target: any worker of any rank; use
 * tern_context_service if any worker of a process will do. Pass the result only to functions that
 * make calls. A broadcast has an option instead. */
TERN_INLINE tern_worker_id tern_by_message(tern_worker_id target) {
    target.index |= TERN_INTERNAL_BY_MESSAGE;
    return target;
}

/* Removes the mark again: returns the target for calls over rings. */
TERN_INLINE tern_worker_id tern_by_ring(tern_worker_id target) {
    if (target.index != TERN_NO_WORKER)
        target.index &= ~TERN_INTERNAL_BY_MESSAGE;
    return target;
}

/* Returns what a thread without a worker passes in place of one; all such threads of the process
 * may use it at the same time. Pass it to functions that make calls, which then go by message, to
 * the functions of their requests (tern_test, tern_wait and the like), and to
 * tern_synchronizer_raise, _test and _wait. Functions that need a worker's progress refuse it
 * (TERN_ERR_STATE). Do not pass it to any other function, and not in handlers, which know their
 * worker. NULL if context is NULL. Local, never blocks.
 *
 * The index of such a thread is TERN_NO_WORKER in tern_call_info.origin. While the thread waits it
 * delivers the messages of others but runs no function. The target has to make progress. If the
 * thread does not wait, this process has to make progress too, until a larger message has left. The
 * process's first worker passes a broadcast on. Any number of calls with results may be under way,
 * since they need no reply cell; each takes some memory until a thread has waited for it. Vectors
 * and buffers of typed functions are copied; archives with chunks are TERN_ERR_UNSUPPORTED, and so
 * is TERN_BUFFER_PUT to registered memory of another node. TERN_ERR_STATE: MPI runs below
 * MPI_THREAD_SERIALIZED and another thread uses it. The context must outlive the calls. */
TERN_API tern_worker *tern_context_caller(tern_context *context);

#ifdef __cplusplus
}
#endif

#endif
