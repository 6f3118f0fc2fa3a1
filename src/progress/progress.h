#ifndef TERN_SRC_PROGRESS_PROGRESS_H
#define TERN_SRC_PROGRESS_PROGRESS_H

/* Parts of progress: pending operations, membarriers and service threads. */

#include "src/context.h"

/*
 * Pending operation: something of several steps that a worker has under way, such as an operation
 * that started and returned. The worker's progress takes the next steps, whatever its thread waits
 * for: others may be waiting for what is half done. The list is the worker's own thread's.
 */

struct tern_pending {
    struct tern_pending *next;
    /* Takes steps that need not wait, and adds to events how many. Runs in progress; adds no
     * pending. False: nothing is under way any more, and the pending is off the list. */
    bool (*move)(tern_worker *worker, struct tern_pending *pending, size_t *events);
};

/* One that is not on the list. Not in progress. */
static inline void tern_pending_add(tern_worker *worker, tern_pending *pending) {
    pending->next = worker->pending;
    worker->pending = pending;
}

/*
 * contexts.c: the contexts of the process. Their ranks may wait for each other in any order: one
 * rank waits in the first context for another one that waits in the second. So every wait, of
 * whichever context, makes progress for all of them:
 *
 *     where handlers of the waiting worker may run (in tern_progress_round), the other contexts
 * have whole rounds of progress. Meanwhile the waiting worker counts as in a handler, so that their
 * handlers may use it, by the rules of handlers elsewhere (in tern_wait_step) they only serve what
 * never runs a handler and never waits
 *
 * A thread makes progress for the workers that it adopted and for those that no thread has. A
 * context is listed when it is complete, and leaves the list before its destruction begins.
 */

extern _Atomic uint32_t tern_contexts_count;

/* A context of this process begins to be made, or is gone. */
void tern_contexts_begin(void);
void tern_contexts_end(void);

/* Another context than the caller's exists. */
static inline bool tern_contexts_several(void) {
    /* R4 */
    return atomic_load_explicit(&tern_contexts_count, memory_order_relaxed) > 1;
}

/* Lists the context, or takes it off the list, where it need not be: then no other thread is in a
 * round of progress for it. Not from tern_contexts_round. */
void tern_contexts_join(tern_context *context);
void tern_contexts_leave(const tern_context *context);

/* The calling thread is in tern_contexts_round. */
bool tern_contexts_reading(void);

/* A round of progress for each listed context but the worker's, which is not in progress unless it
 * is the one of threads that have none. NULL: for all. Nothing within such a round, or while
 * another thread waits to join or leave. Returns the number of events. */
size_t tern_contexts_round(tern_worker *worker);

/* Serves other ranks in the worker's context without running handlers: the serve of each layer. */
size_t tern_layers_serve(tern_worker *worker);

/* Serves other ranks in each listed context but this one, without running handlers. */
size_t tern_contexts_serve(const tern_context *context);

/*
 * membarrier.c: for two sides that each store a word and then load the other's (R3),
 * of which one does so all the time and the other seldom. The kernel makes every running thread of
 * every registered process execute a full barrier, so the busy side needs none. Where the kernel
 * refuses on some rank, tern_context.fences is set, and each side has a fence of its own.
 */

/* Registers this process. False: the kernel refuses. */
bool tern_membarrier_register(void);

/* The seldom side, between its store and its load. It needs a fence besides. */
void tern_membarrier(const tern_context *context);

/*
 * service_threads.c (paper 000, 3.3): threads of tern's own that make progress
 * where no application thread does. Each has a worker behind the application's, so what reaches it
 * comes by rings like everything else; messages of other nodes are served by any worker. A service
 * thread that found some of these would go on as long as more come: on the core of a worker that
 * asks for them itself, that worker would stand still for a time slice. So workers tell when they
 * ask, and where.
 */

typedef struct tern_service_threads tern_service_threads;

/* The worker asks MPI for messages. Its own thread. */
void tern_worker_attend(tern_worker *worker);

/* Starts those that the configuration asks for, when the layers are open. */
tern_status tern_service_threads_start(tern_context *context);

/* Ends them and gives their workers back. NULL is fine. */
void tern_service_threads_stop(tern_context *context);

#endif
