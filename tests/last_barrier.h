/* A rank that dies in a barrier of MPI when all have come to it: rank 0 never leaves that barrier,
 * the others do. */

#ifndef TERN_TESTS_LAST_BARRIER_H
#define TERN_TESTS_LAST_BARRIER_H

#include "survivors.h"

static struct {
    int in; /* so many barriers from now on; 0: none */
    int nothing;
} last_barrier;

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    const int victim = tern_test_size() - 1;
    int code = PMPI_Ibarrier(comm, request);
    if (last_barrier.in == 0 || --last_barrier.in > 0)
        return code;
    code = PMPI_Wait(request, MPI_STATUS_IGNORE);
    if (tern_test_rank() == victim)
        tern_test_kill(victim);
    while (!tern_test_dead(victim))
        sched_yield();
    return tern_test_rank() != 0
               ? code
               : PMPI_Irecv(&last_barrier.nothing, 1, MPI_INT, 0, 1234, comm, request);
}

/* Rank 0 is told of the death meanwhile. */
static inline void let_rank_0_return(fixture *f) {
    for (double end = MPI_Wtime() + 0.3; MPI_Wtime() < end; sched_yield())
        tern_progress(f->worker);
}

#endif
