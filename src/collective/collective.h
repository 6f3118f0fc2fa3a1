#ifndef TERN_SRC_COLLECTIVE_COLLECTIVE_H
#define TERN_SRC_COLLECTIVE_COLLECTIVE_H

/*
 * Collectives for creating and destroying things, waited for with progress, so that a rank that is
 * late because it waits for this one's service gets it. One worker of each rank calls them, in the
 * same order everywhere; not in handlers. worker may be NULL while the context is being created or
 * closed: then nobody needs service.
 *
 * A barrier, a sum and an agreement are one step of the same shape, a meeting, which also sums up
 * the names of what the ranks are in. So if the ranks are in different functions, each learns it at
 * the first meeting, gets TERN_ERR_MISMATCH with two of the names, and all have come to the same
 * step again. An all-gather and a broadcast carry no name: every function meets before it uses one.
 *
 * A rank comes to one meeting at a time: another worker that has to meet waits until the function
 * of the first has ended. Collectives over notifications (rma/notify/conflict.c) meet only when
 * one of them cannot go on. A rank may have been through a broadcast that others are still in; it
 * is not concerned by their meeting, which it learns there, and comes to the next one with what it
 * is in itself.
 */

#include <stddef.h>
#include <stdint.h>

#include "src/context.h"

/* Names the function that the calling block belongs to, for all collectives of worker in it, those
 * of the functions that it calls included. An inner name changes nothing. worker may be NULL. */
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

/* TERN_ERR_PEER if this rank knows of a death: then it begins no collective. It may be past one in
 * which others still wait, and their messages would meet. */
tern_status tern_collective_may_begin(const tern_context *context);

/* A meeting claims its rank for the worker until the function that the worker is in ends. These do
 * it earlier, waiting for the function of another worker, and give the claim up earlier. */
tern_status tern_collective_claim(tern_worker *worker);
void tern_collective_yield(tern_worker *worker);

/* Each of the functions below may return TERN_ERR_PEER and TERN_ERR_MPI; those that meet,
 * TERN_ERR_MISMATCH too. */

tern_status tern_collective_barrier(tern_context *context, tern_worker *worker);

/* gathered: size * bytes. */
tern_status tern_collective_allgather(tern_context *context, tern_worker *worker, const void *mine,
                                      size_t bytes, void *gathered);

/* To rank 0, in place of size * bytes at gathered. Both pieces of memory are left to MPI if this
 * does not return TERN_OK. */
tern_status tern_collective_gather(tern_context *context, const void *mine, size_t bytes,
                                   void *gathered);

/* Takes the memory that collectives work in (src/collective/room.h), before any other of them.
 * before: whether this rank could do what it has to before that. If not, or if there is no memory,
 * no rank gets TERN_OK. */
tern_status tern_collective_open(tern_context *context, tern_status before);

/* Puts a duplicate of context->comm in its place. */
tern_status tern_collective_duplicate(tern_context *context);

/* From root to all. */
tern_status tern_collective_broadcast(tern_context *context, tern_worker *worker, uint32_t root,
                                      void *data, size_t bytes);

/* From one rank to another one: these two call it. */
tern_status tern_collective_pass(tern_context *context, uint32_t from, uint32_t to, void *data,
                                 size_t bytes);

/* In place. */
tern_status tern_collective_sum(tern_context *context, tern_worker *worker, uint64_t *values,
                                int count);

/* Agrees on the outcome of a local step: TERN_OK if status is TERN_OK on every rank; otherwise a
 * rank that failed gets its own status with its detail kept, and the others the first failed rank's
 * status with a detail that names that rank and what. */
tern_status tern_collective_agree(tern_context *context, tern_worker *worker, tern_status status,
                                  const char *what);

/* same.c: TERN_ERR_MISMATCH, naming what, the first rank that differs from rank 0, and the first
 * byte that does with both values, unless bytes at mine are the same on every rank. */
tern_status tern_collective_same(tern_context *context, tern_worker *worker, const void *mine,
                                 size_t bytes, const char *what);

/* A number that the function is to be given alike on every rank, such as an option. */
typedef struct tern_field {
    const char *name;
    uint64_t value;
} tern_field;
enum { TERN_FIELDS_MAX = 16 };

/* The same of fields, at most TERN_FIELDS_MAX, that the function name was given: names the field
 * and both values. */
tern_status tern_collective_same_fields(tern_context *context, tern_worker *worker,
                                        const tern_field *mine, size_t count, const char *name);

/* The same of a text, of which a mismatch shows the end. remedy: what to do about one. */
tern_status tern_collective_same_text(tern_context *context, tern_worker *worker, const char *mine,
                                      const char *what, const char *remedy);

/*
 * phase.c: tern_barrier ends one (tern/container.h). What an object left undone because a
 * promise allowed it is done then, by its hook, before anybody leaves the barrier.
 */

/* Collective objects add and remove their hooks, in calls that no barrier runs beside. */
void tern_phase_add(tern_context *context, tern_phase_hook *hook);
/* A hook that was never added is fine. */
void tern_phase_remove(tern_context *context, tern_phase_hook *hook);

/* Runs all hooks; the first failure. Puts and atomics they make are complete with the barrier. */
tern_status tern_phase_end(tern_worker *worker);

#endif
