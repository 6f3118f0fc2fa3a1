#ifndef TERN_MPI_H
#define TERN_MPI_H

/*
 * Waiting in MPI that is waiting in tern: these functions wait for what MPI does and make the
 * worker's progress meanwhile, so that other ranks' calls are served. A rank that waits in
 * MPI_Wait or MPI_Barrier serves nobody, and a rank that needs its service waits with it for ever
 * (docs/mpi.md). Programs whose MPI calls cannot be changed use libtern_pmpi instead.
 *
 * Common to all: they take the MPI lock for each look at MPI, and must not be called with it.
 * Blocking, not allowed in handlers. Handlers run meanwhile.
 *
 * Errors of all: TERN_ERR_ARGUMENT: a pointer is NULL or count is negative. TERN_ERR_STATE: in a
 * handler. TERN_ERR_MPI: MPI reported an error, and its communicator's error handler let it return;
 * the detail is MPI's text. TERN_ERR_PEER: a rank of the worker's context died before MPI was
 * done; MPI goes on by itself, and requests can still be tested and waited for.
 */

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As MPI_Wait. request: of any kind, in: active, inactive or MPI_REQUEST_NULL. [out] status: may be
 * MPI_STATUS_IGNORE; it is set as by MPI_Wait, also where MPI reports an error. Cost: an MPI_Test
 * for each round of progress. */
TERN_NODISCARD TERN_API tern_status tern_mpi_wait(tern_worker *worker, MPI_Request *request,
                                                  MPI_Status *status);

/* As MPI_Waitall. [out] statuses: count of them, or MPI_STATUSES_IGNORE. Where some of the
 * operations failed it is TERN_ERR_MPI once, and the MPI_ERROR of each status says how its
 * operation went. Cost: an MPI_Testall for each round of progress. */
TERN_NODISCARD TERN_API tern_status tern_mpi_waitall(tern_worker *worker, int count,
                                                     MPI_Request *requests, MPI_Status *statuses);

/* As MPI_Ibarrier and its wait, which no MPI_Barrier of another rank matches: all ranks of comm
 * call this function. Any communicator, whether its ranks belong to the context or not.
 * TERN_ERR_PEER leaves the barrier unfinished: comm is of no more use for collective calls. */
TERN_NODISCARD TERN_API tern_status tern_mpi_barrier(tern_worker *worker, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
