#ifndef TERN_MESSAGE_H
#define TERN_MESSAGE_H

/*
 * Calls by message (Seriema, paper 000, 4.3 and table 1): calls that need no ring between caller
 * and target, and so nothing that is set up before the first one or kept after the last. They are
 * for threads that live too short to own a worker, and for calls so rare that a ring is a waste.
 * Each costs a two-sided MPI message, between the ranks of one node too, and so does the result of
 * a thread's call: calls over rings are much faster.
 *
 * They are the calls of tern/call.h, tern/archive.h and tern/remote.h. A worker says so by the
 * target, and a thread that has no worker by what it passes in the place of one:
 *
 *     status = tern_call_return(worker, tern_by_message(target), &count, text, bytes, &words,
 *                               sizeof words, NULL);
 *     status = mean(tern_context_caller(context), target, values, values_count, &result);
 *
 * Arguments, results, buffers, synchronizers, requests and errors are those of the call over a
 * ring, with these differences:
 *
 * Room. A process has a window of TERN_MESSAGE_WINDOW bytes to each worker, for calls that have not
 * run yet, with 64 bytes for each besides what it carries, and another for the calls that its
 * handlers make: a worker takes no more memory than that for each process that calls it. A full
 * window takes the place of a full ring, and so does want of a buffer for messages while MPI still
 * reads all. There is no queue: tern_call_queue, and every call in a handler, is TERN_ERR_AGAIN
 * then, as tern_call_try is. What is more than TERN_MESSAGE_MAX bytes with its buffer inside lies
 * in this rank's segment, and the target gets it from there, up to TERN_CHUNK_MAX
 * (tern/archive.h): its message is small. So the memory of a large call is the caller's
 * segment's, and is free when the function has run.
 *
 * Order. Each call runs once. Those of one thread to one target run in their order, and so do those
 * that its handlers make, but there is no order between the two, nor with calls over rings. Calls
 * of handlers run first. So handlers that answer their callers find room in the end, whatever
 * windows are full; those that make a call for each call of a handler may not. While the target
 * gets what a call carries, other calls by message to it wait, those of other callers too;
 * TERN_BUFFER_GET_ASIDE lets them run.
 *
 * Delivery. Whichever thread of the target's process asks MPI, a service thread for one, delivers
 * the message to the worker that it names, whose own progress runs the function. tern_quiesce and
 * tern_context_destroy know of these calls.
 */

#include "tern/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most that one message carries: it is copied into buffers that each process has posted for any
 * other, so this bounds what a process keeps for calls that may come from anywhere. */
#define TERN_MESSAGE_MAX ((size_t)32 << 10)
#define TERN_MESSAGE_WINDOW ((size_t)128 << 10)

/* The index in tern_call_info.origin of a thread without a worker: it cannot be called back. */
#define TERN_NO_WORKER UINT32_MAX

/* Not for applications: what tern_by_message adds to an index. */
#define TERN_INTERNAL_BY_MESSAGE ((uint32_t)1 << 31)

/* The target for calls by message; any worker of any rank, as tern_context_service names the
 * process. Only for functions that make calls. A broadcast has an option instead. */
TERN_INLINE tern_worker_id tern_by_message(tern_worker_id target) {
    target.index |= TERN_INTERNAL_BY_MESSAGE;
    return target;
}

/* The same target for calls over rings. */
TERN_INLINE tern_worker_id tern_by_ring(tern_worker_id target) {
    if (target.index != TERN_NO_WORKER)
        target.index &= ~TERN_INTERNAL_BY_MESSAGE;
    return target;
}

/* What all threads of the process that have no worker pass in the place of one, at the same time:
 * to functions that make calls, all of which then go by message, to those of their requests
 * (tern_test, tern_wait and the like), and to tern_synchronizer_raise, _test and _wait. Functions
 * that need a worker's progress refuse it (TERN_ERR_STATE); it must not be passed to others. Not in
 * handlers, which know their worker. NULL if context is. Local, never blocks.
 *
 * The index of such a thread is TERN_NO_WORKER in tern_call_info.origin. While it waits it serves
 * the messages of others and runs no function: the target has to make progress, and this process,
 * if the thread does not stay, to get a message of some size on its way. A broadcast is passed on
 * by the process's first worker. Results take no reply cell: any number may be under way, each with
 * some memory until it is waited for. Vectors and buffers of typed functions are copied; archives
 * with chunks are TERN_ERR_UNSUPPORTED, and so is TERN_BUFFER_PUT to registered memory of another
 * node. TERN_ERR_STATE: MPI runs below MPI_THREAD_SERIALIZED and another thread uses it. The
 * context must outlive the calls. */
TERN_API tern_worker *tern_context_caller(tern_context *context);

#ifdef __cplusplus
}
#endif

#endif
