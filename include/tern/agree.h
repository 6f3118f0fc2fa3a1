#ifndef TERN_AGREE_H
#define TERN_AGREE_H

/*
 * Agreement: what a program needs to write collective functions of its own, such as one that
 * creates an object with a part on every rank (tern/part.h). tern's own collective functions are
 * built in the same way: each step that can fail on one rank ends with tern_agree, so no rank waits
 * for a rank that has given up.
 *
 *     tern_status status = tern_collective_begin(worker, "shop_create");
 *     if (status != TERN_OK)
 *         return status;
 *     status = tern_agree(worker, allocate(&shop), "shop_create");
 *     if (status == TERN_OK)
 *         status = tern_same(worker, &options, sizeof options, "the options of shop_create");
 *     ...
 *     tern_collective_end(worker);
 *
 * One worker of each rank calls these functions, in the same order on every rank. They block and
 * make progress. Errors of all: TERN_ERR_ARGUMENT: a pointer is NULL. TERN_ERR_STATE: called in a
 * handler. TERN_ERR_PEER: a rank has died. TERN_ERR_MISMATCH: the ranks are in different collective
 * functions; the detail has both names, every rank gets the error, and the next collective works.
 * TERN_ERR_MEMORY, TERN_ERR_MPI.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a collective function of the program. Until the worker comes to tern_collective_end, each
 * collective that it calls is part of this function: errors and reports of ranks that wait long
 * name it. Such functions may be nested, and the outermost name counts. name must stay valid until
 * tern_collective_end. Local, never blocks. TERN_ERR_ARGUMENT, TERN_ERR_STATE: as above; then the
 * function has not begun, and tern_collective_end must not be called. */
TERN_NODISCARD TERN_API tern_status tern_collective_begin(tern_worker *worker, const char *name);

/* Ends the collective function that this worker has begun last. Local, never blocks. */
TERN_API void tern_collective_end(tern_worker *worker);

/* Ends a local step. TERN_OK: status was TERN_OK on every rank. Otherwise a rank that failed gets
 * its own status, with its detail kept, and the others get the status of the first rank that failed
 * and a detail that names that rank and what. It does not complete puts. Costs a barrier. */
TERN_NODISCARD TERN_API tern_status tern_agree(tern_worker *worker, tern_status status,
                                               const char *what);

/* Compares the bytes at data across all ranks. TERN_ERR_MISMATCH: they differ; the detail has what
 * and two ranks that differ. bytes: the same on every rank. Costs two barriers, and memory for the
 * bytes of every rank. */
TERN_NODISCARD TERN_API tern_status tern_same(tern_worker *worker, const void *data, size_t bytes,
                                              const char *what);

/* Adds the values of all ranks up, in place; sums wrap around. count: the same on every rank. Costs
 * one barrier for every few values. Unlike tern_team_allreduce it may be called by workers of
 * different indexes. */
TERN_NODISCARD TERN_API tern_status tern_sum(tern_worker *worker, uint64_t *values, size_t count);

/* Passes an open file among the ranks of each node: on every rank *out becomes a descriptor of the
 * file that the lowest rank of its node has open as fd. fd of the other ranks is ignored. *out is
 * close-on-exec, and the caller closes it; fd stays the caller's. Between virtual nodes
 * (TERN_RANKS_PER_NODE) nothing is passed. TERN_ERR_ARGUMENT on every rank: fd is not open on some
 * lowest rank. TERN_ERR_SYSTEM: a limit on open files, or a socket failed. TERN_ERR_TIMEOUT: a rank
 * of the node sends nothing for a minute. No progress is made while descriptors are passed. */
TERN_NODISCARD TERN_API tern_status tern_pass_descriptor(tern_worker *worker, int fd, int *out);

#ifdef __cplusplus
}
#endif

#endif
