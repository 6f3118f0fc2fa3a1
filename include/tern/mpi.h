#ifndef TERN_MPI_H
#define TERN_MPI_H

/*
 * Waiting for MPI with progress: these functions wait for an operation of MPI and make the worker's
 * progress meanwhile, so that other ranks' calls are served. A rank that waits in MPI_Wait or
 * MPI_Barrier serves nobody, so a rank that needs its service may wait for ever (docs/mpi.md).
 * Programs whose MPI calls cannot be changed use libtern_pmpi instead.
 *
 * Common to all: they take the MPI lock for each test, so the caller must not hold it. They block
 * and are not allowed in handlers. Handlers run meanwhile.
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

/* Waits for a request of MPI, making progress, as MPI_Wait does. request: of any kind, active,
 * inactive or MPI_REQUEST_NULL. [out] status: may be MPI_STATUS_IGNORE; it is set as by MPI_Wait,
 * also where MPI reports an error. Cost: an MPI_Test for each round of progress. */
TERN_NODISCARD TERN_API tern_status tern_mpi_wait(tern_worker *worker, MPI_Request *request,
                                                  MPI_Status *status);

/* Waits for requests of MPI, making progress, as MPI_Waitall does. [out] statuses: count statuses,
 * or MPI_STATUSES_IGNORE. If some of the operations failed it returns TERN_ERR_MPI, and the
 * MPI_ERROR of each status says how its operation went. Cost: an MPI_Testall for each round of
 * progress. */
TERN_NODISCARD TERN_API tern_status tern_mpi_waitall(tern_worker *worker, int count,
                                                     MPI_Request *requests, MPI_Status *statuses);

/* Waits in a barrier of comm, making progress, as MPI_Ibarrier and a wait do. MPI does not match it
 * with an MPI_Barrier of another rank, so all ranks of comm must call this function. comm may be
 * any communicator, whether its ranks belong to the context or not. TERN_ERR_PEER leaves the
 * barrier unfinished: comm can no longer be used for collective calls. */
TERN_NODISCARD TERN_API tern_status tern_mpi_barrier(tern_worker *worker, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
