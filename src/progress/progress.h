#ifndef TERN_SRC_PROGRESS_PROGRESS_H
#define TERN_SRC_PROGRESS_PROGRESS_H

/* Parts of progress: pending operations, membarriers and service threads. */

#include "src/context.h"

/*
 * Pending operation: an operation of several steps that a worker has under way, such as one that
 * started and returned. The worker's progress takes the next steps, whatever its thread waits for,
 * because other ranks may wait for the rest of the operation. Only the worker's own thread uses the
 * list.
 */

struct tern_pending {
    struct tern_pending *next;
    /* Takes the steps that need no wait, and adds their number to events. Runs in progress; must
     * not add a pending operation. False: the operation has ended and is removed from the list. */
    bool (*move)(tern_worker *worker, struct tern_pending *pending, size_t *events);
};

/* Adds an operation that is not on the list. Not in progress. */
static inline void tern_pending_add(tern_worker *worker, tern_pending *pending) {
    pending->next = worker->pending;
    worker->pending = pending;
}

/*
 * contexts.c: the contexts of the process. Their ranks may wait for each other in any order: one
 * rank may wait in the first context for a rank that waits in the second. So every wait, in any
 * context, makes progress for all contexts:
 *
 *   - Where handlers of the waiting worker may run (in tern_progress_round), the other contexts
 *     have whole rounds of progress. Meanwhile the waiting worker counts as being in a handler, so
 *     their handlers may use it, by the rules of handlers.
 *   - Elsewhere (in tern_wait_step) the other contexts only serve what never runs a handler and
 *     never waits.
 *
 * A thread makes progress for the workers that it adopted and for those that no thread has. A
 * context is listed when it is complete, and leaves the list before its destruction begins.
 */

extern _Atomic uint32_t tern_contexts_count;

/* Called when the creation of a context begins in this process, and when a context is gone. */
void tern_contexts_begin(void);
void tern_contexts_end(void);

/* Whether the process has another context than the caller's. */
static inline bool tern_contexts_several(void) {
    /* R4 */
    return atomic_load_explicit(&tern_contexts_count, memory_order_relaxed) > 1;
}

/* Puts the context on the list, or takes it off, which is fine if it is not on it. When it is off,
 * no other thread is in a round of progress for it. Not from tern_contexts_round. */
void tern_contexts_join(tern_context *context);
void tern_contexts_leave(const tern_context *context);

/* Whether the calling thread is in tern_contexts_round. */
bool tern_contexts_reading(void);

/* A round of progress for each listed context except the worker's; for all of them if worker is
 * NULL. The worker must not be in progress, unless it stands for threads without a worker. Does
 * nothing within such a round, or while another thread waits to join or leave. Returns the number
 * of events. */
size_t tern_contexts_round(tern_worker *worker);

/* Serves other ranks in the worker's context without running handlers: the serve of each layer. */
size_t tern_layers_serve(tern_worker *worker);

/* Serves other ranks in each listed context but this one, without running handlers. */
size_t tern_contexts_serve(const tern_context *context);

/*
 * membarrier.c: for two sides that each store a word and then load the other's word (R3), one of
 * them all the time and the other seldom. The seldom side asks the kernel to make every running
 * thread of every registered process execute a full barrier, so the busy side needs none. If the
 * kernel refuses this on some rank, tern_context.fences is set, and each side executes a fence of
 * its own.
 */

/* Registers this process. False: the kernel refuses. */
bool tern_membarrier_register(void);

/* Called by the seldom side between its store and its load. It needs a fence as well. */
void tern_membarrier(const tern_context *context);

/*
 * service_threads.c (paper 000, 3.3): threads of tern that make progress while no application
 * thread does. Each has a worker, with an index behind those of the application, so calls reach it
 * through rings as they reach any worker; any worker may serve messages of other nodes. A service
 * thread that finds messages goes on as long as more arrive. If it ran on the core of a worker that
 * asks for messages itself, that worker would stand still for a time slice. So workers record when
 * and on which core they ask.
 */

typedef struct tern_service_threads tern_service_threads;

/* Records that the worker asks MPI for messages. Only its own thread may call it. */
void tern_worker_attend(tern_worker *worker);

/* Starts the service threads that the configuration asks for, when the layers are open. */
tern_status tern_service_threads_start(tern_context *context);

/* Ends the service threads of a context, if it has any, and gives their workers back. */
void tern_service_threads_stop(tern_context *context);

#endif
