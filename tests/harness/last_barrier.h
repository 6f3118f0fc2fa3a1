/* A rank dies in a collective that all ranks have come to: rank 0 never leaves that collective, the
 * others do. All collectives go through MPI here, even where ranks share memory. */

#ifndef TERN_TESTS_HARNESS_LAST_BARRIER_H
#define TERN_TESTS_HARNESS_LAST_BARRIER_H

#include "survivors.h"

#include "src/context.h"

static struct {
    int in;  /* the last rank dies in the so many-th meeting from now on; 0: in none */
    int met; /* meetings up to now */
    int nothing;
} last_barrier;

static int die_in(MPI_Comm comm, MPI_Request *request, int code) {
    const int victim = tern_test_size() - 1;
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

int PMPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Request *request) {
    int code = MPI_Iallreduce(mine, all, count, type, op, comm, request);
    last_barrier.met++;
    return die_in(comm, request, code);
}

/* Makes the context meet by MPI and not in shared memory, and begins to count the meetings. */
static inline void count_meetings(fixture *f) {
    f->context->meeting = NULL;
    last_barrier.met = 0;
}

/* Waits a while, in which rank 0 is told of the death. */
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
