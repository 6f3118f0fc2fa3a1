#ifndef TERN_SRC_COLLECTIVE_H
#define TERN_SRC_COLLECTIVE_H

/*
 * Collectives for creating and destroying things: non-blocking MPI ones, waited for with progress,
 * so that a rank that is late because it waits for this one's service gets it. One worker of each
 * rank calls them, in the same order everywhere; not in handlers. worker may be NULL while the
 * context is being created: then nobody needs service.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"

tern_status tern_collective_barrier(tern_context *context, tern_worker *worker);

/* gathered: size * bytes. */
tern_status tern_collective_allgather(tern_context *context, tern_worker *worker, const void *mine,
                                      size_t bytes, void *gathered);

/* From root to all. bytes: below 2 GiB. */
tern_status tern_collective_broadcast(tern_context *context, tern_worker *worker, uint32_t root,
                                      void *data, size_t bytes);

/* In place. */
tern_status tern_collective_sum(tern_context *context, tern_worker *worker, uint64_t *values,
                                int count);

/* Agrees on the outcome of a local step: TERN_OK if status is TERN_OK on every rank; otherwise a
 * rank that failed gets its own status with its detail kept, and the others the first failed rank's
 * status with a detail that names that rank and what. */
tern_status tern_collective_agree(tern_context *context, tern_worker *worker, tern_status status,
                                  const char *what);

/* TERN_ERR_MISMATCH, naming what and the first two ranks that differ, unless bytes at mine are the
 * same on every rank. */
tern_status tern_collective_same(tern_context *context, tern_worker *worker, const void *mine,
                                 size_t bytes, const char *what);

#endif
