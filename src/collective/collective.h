#ifndef TERN_SRC_COLLECTIVE_COLLECTIVE_H
#define TERN_SRC_COLLECTIVE_COLLECTIVE_H

/*
 * Collectives for creating and destroying objects. They make progress while they wait, so that a
 * rank that is late because it needs this rank's service gets it. One worker of each rank calls
 * them, in the same order on every rank; not in handlers. worker may be NULL while the context is
 * being created or closed, when no rank needs service.
 *
 * A barrier, a sum and an agreement are the same kind of step, a meeting. A meeting also sums up
 * hashes of the names of the functions that the ranks are in. So if the ranks are in different
 * functions, each learns it at the first meeting and gets TERN_ERR_MISMATCH with two of the names,
 * and then all ranks are at the same step again. An all-gather and a broadcast carry no name: every
 * function holds a meeting before it uses one of them.
 *
 * A rank is in one meeting at a time: a second worker that wants to meet waits until the function
 * of the first has ended.
 */

#include <stddef.h>
#include <stdint.h>

#include "src/context.h"

/* Names the function to which the calling block belongs. The name is used for all collectives of
 * worker in this block, also in functions that it calls; a name given there is ignored. worker may
 * be NULL. */
#define TERN_COLLECTIVE(worker, name)                                                              \
    tern_worker *collective_worker __attribute__((cleanup(tern_collective_leave), unused)) =       \
        tern_collective_enter(worker, name)

/* Returns worker if it was in no collective, else NULL. */
static inline tern_worker *tern_collective_enter(tern_worker *worker, const char *name) {
    if (worker == NULL || worker->collective != NULL)
        return NULL;
    worker->collective = name;
    return worker;
}

void tern_collective_leave(tern_worker *const *entered);

/* TERN_ERR_PEER if this rank knows of a death, and TERN_ERR_MPI if MPI has lost a connection: then
 * it must not begin a collective. It may have left a collective in which others still wait, and the
 * messages of the two collectives would mix, or its arrival would count twice. */
tern_status tern_collective_may_begin(const tern_context *context);

/* A meeting claims its rank for the worker until the worker's function ends. tern_collective_claim
 * does that before a meeting; it waits until the function of another worker has ended.
 * tern_collective_yield gives the claim up before the worker's function ends. */
tern_status tern_collective_claim(tern_worker *worker);
void tern_collective_yield(tern_worker *worker);

/* Each of the functions below may return TERN_ERR_PEER and TERN_ERR_MPI; those that meet,
 * TERN_ERR_MISMATCH too. */

tern_status tern_collective_barrier(tern_context *context, tern_worker *worker);

/* gathered: memory for size * bytes. */
tern_status tern_collective_allgather(tern_context *context, tern_worker *worker, const void *mine,
                                      size_t bytes, void *gathered);

/* Gathers at rank 0, which has memory for size * bytes at gathered. If this does not return TERN_OK
 * MPI may still use both pieces of memory: do not free them. */
tern_status tern_collective_gather(tern_context *context, const void *mine, size_t bytes,
                                   void *gathered);

/* Takes the memory that collectives work in (src/collective/collective_buffer.h). The first
 * collective of a context. before: the status of what this rank did before. If that is an error on
 * any rank, or a rank has no memory, no rank gets TERN_OK. */
tern_status tern_collective_open(tern_context *context, tern_status before);

/* Replaces context->comm by a duplicate. */
tern_status tern_collective_duplicate(tern_context *context);

/* Copies data of root to all ranks. */
tern_status tern_collective_broadcast(tern_context *context, tern_worker *worker, uint32_t root,
                                      void *data, size_t bytes);

/* Sends data from one rank to another; only these two call it. */
tern_status tern_collective_pass(tern_context *context, uint32_t from, uint32_t to, void *data,
                                 size_t bytes);

/* Sums up values over all ranks, in place. */
tern_status tern_collective_sum(tern_context *context, tern_worker *worker, uint64_t *values,
                                int count);

/* Agrees on the outcome of a local step: TERN_OK if status is TERN_OK on every rank; otherwise a
 * rank that failed gets its own status with its detail kept, and the others the first failed rank's
 * status with a detail that names that rank and the step (what). */
tern_status tern_collective_agree(tern_context *context, tern_worker *worker, tern_status status,
                                  const char *what);

/* same.c: compares the bytes at mine over all ranks. TERN_ERR_MISMATCH: they differ; the text names
 * what was compared (what), the first rank that differs from rank 0, and the first byte that
 * differs with both values. */
tern_status tern_collective_same(tern_context *context, tern_worker *worker, const void *mine,
                                 size_t bytes, const char *what);

/* A number that must be the same on every rank, such as an option. */
typedef struct tern_field {
    const char *name;
    uint64_t value;
} tern_field;
enum { TERN_FIELDS_MAX = 16 };

/* Compares fields, at most TERN_FIELDS_MAX, that were passed to function name: the text has the
 * field's name and both values. */
tern_status tern_collective_same_fields(tern_context *context, tern_worker *worker,
                                        const tern_field *mine, size_t count, const char *name);

/* Compares a text. The error shows the ends of two texts that differ, and remedy, which says what
 * to do. */
tern_status tern_collective_same_text(tern_context *context, tern_worker *worker, const char *mine,
                                      const char *what, const char *remedy);

/*
 * phase.c: tern_barrier ends a phase (tern/container.h). If a promise has allowed an object to
 * leave work undone, the object's hook does this work before any rank leaves the barrier.
 */

/* Collective objects add and remove their hooks, in calls during which no barrier runs. */
void tern_phase_add(tern_context *context, tern_phase_hook *hook);
/* A hook that was never added is fine. */
void tern_phase_remove(tern_context *context, tern_phase_hook *hook);

/* Runs all hooks; returns the first failure. Puts and atomics of the hooks are complete when the
 * barrier returns. */
tern_status tern_phase_end(tern_worker *worker);

#endif
