#ifndef TERN_MESSAGE_H
#define TERN_MESSAGE_H

/*
 * Calls by message (paper 000, 4.3): calls that need no ring between caller and target,
 * and so nothing that is set up before the first one or kept after the last. They are for threads
 * that live too short to own a worker, and for calls so rare that a ring is a waste. Each costs a
 * two-sided MPI message, between the ranks of one node too: those of tern/call.h are much faster.
 *
 * Whichever thread of the target's process asks MPI, a service thread for one, delivers the message
 * to the worker that it names, whose own progress runs the function. Each call runs once; those of
 * one thread to one target run in their order, and so do those that its handlers make, but there is
 * no order between the two, nor with calls of tern/call.h. tern_quiesce and tern_context_destroy
 * know of them.
 *
 * A process has a window of TERN_MESSAGE_WINDOW bytes to each worker, for calls that have not run
 * yet, with 64 bytes for each besides its arguments, and another for the calls that its handlers
 * make: a worker takes no more memory than that for each process that calls it. Calls of handlers
 * run first. So handlers that answer their callers find room in the end, whatever windows are full;
 * those that make a call for each call of a handler may not.
 */

#include "tern/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest arguments of a call by message, in bytes. They are copied into buffers that each
 * process has posted for any other, so this bounds what a process keeps for calls that may come
 * from anywhere. Larger ones: tern_call, or a call by message with a tern_ptr to get them from. */
#define TERN_MESSAGE_MAX ((size_t)32 << 10)
#define TERN_MESSAGE_WINDOW ((size_t)128 << 10)

/* The index in tern_call_info.origin of a thread without a worker: it cannot be called back. */
#define TERN_NO_WORKER UINT32_MAX

/* Runs function on target with a copy of the arguments, once, and returns at once; any worker of
 * any rank, as tern_context_service names the process. A full window is waited for, making
 * progress, and so is a buffer for messages while MPI still reads all; in a handler, and with
 * tern_call_message_try, that is TERN_ERR_AGAIN. The thread of worker, whose process has to make
 * progress for a large message to leave. TERN_ERR_RANGE: more than TERN_MESSAGE_MAX bytes;
 * TERN_ERR_NOT_FOUND: the function was registered after the context was created; TERN_ERR_PEER;
 * TERN_ERR_ARGUMENT; TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_call_message(tern_worker *worker, tern_worker_id target,
                                                      const tern_function *function,
                                                      const void *arguments, size_t bytes);
TERN_NODISCARD TERN_API tern_status tern_call_message_try(tern_worker *worker,
                                                          tern_worker_id target,
                                                          const tern_function *function,
                                                          const void *arguments, size_t bytes);

/* The same for any thread of the process, without a worker; not in a handler, which knows its own.
 * Its index in tern_call_info.origin is TERN_NO_WORKER. While it waits it serves the messages of
 * others and runs no function: the target has to make progress, and this process, if the thread
 * does not stay, to get a large message on its way. The context must outlive the call.
 * TERN_ERR_STATE: MPI runs below MPI_THREAD_SERIALIZED and another thread uses it. */
TERN_NODISCARD TERN_API tern_status tern_context_call(tern_context *context, tern_worker_id target,
                                                      const tern_function *function,
                                                      const void *arguments, size_t bytes);
TERN_NODISCARD TERN_API tern_status tern_context_call_try(tern_context *context,
                                                          tern_worker_id target,
                                                          const tern_function *function,
                                                          const void *arguments, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
