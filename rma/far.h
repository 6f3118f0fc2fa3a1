#ifndef TERN_RMA_FAR_H
#define TERN_RMA_FAR_H

/* What the two far transports share. */

#include "rma/ring.h"

/* A request: state[0] is 0 when it is complete, else rank + 1; state[1] holds the MPI_Request. */
_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "an MPI_Request fits a word");

static inline void tern_request_set(tern_request *request, uint32_t rank, MPI_Request mpi) {
    request->state[0] = (uint64_t)rank + 1;
    memcpy(&request->state[1], &mpi, sizeof mpi);
}

tern_status tern_far_test(tern_worker *worker, tern_request *request, int *done);

/* The credit cell that the target writes, if it reads as whole; else what is known already. */
uint64_t tern_far_consumed(tern_worker *worker, const tern_out *out);

#endif
