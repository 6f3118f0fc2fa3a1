/* A rank that dies in a collective of MPI when all have come to it: rank 0 never leaves that
 * collective, the others do. */

#ifndef TERN_TESTS_LAST_BARRIER_H
#define TERN_TESTS_LAST_BARRIER_H

#include "survivors.h"

static struct {
    int in;           /* so many barriers from now on; 0: none */
    int in_allgather; /* the same of these */
    int nothing;
} last_barrier;

static int die_in(int *in, MPI_Comm comm, MPI_Request *request, int code) {
    const int victim = tern_test_size() - 1;
    if (*in == 0 || --*in > 0)
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

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    int code = MPI_Ibarrier(comm, request);
    return die_in(&last_barrier.in, comm, request, code);
}

int PMPI_Iallgather(const void *mine, int count, MPI_Datatype type, void *all, int each,
                    MPI_Datatype of, MPI_Comm comm, MPI_Request *request) {
    int code = MPI_Iallgather(mine, count, type, all, each, of, comm, request);
    return die_in(&last_barrier.in_allgather, comm, request, code);
}

/* Rank 0 is told of the death meanwhile. */
static inline void let_rank_0_return(fixture *f) {
    for (double end = MPI_Wtime() + 0.3; MPI_Wtime() < end; sched_yield())
        tern_progress(f->worker);
}

static inline size_t in_use(const fixture *f) {
    tern_segment_info info;
    tern_segment_get_info(f->context, &info);
    return info.in_use;
}

#endif
