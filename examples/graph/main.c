/*
 * graph: breadth-first search and connected components of a graph that is distributed over the
 * ranks of an MPI job. Run: mpirun -n 4 graph. See README.md.
 *
 * by_tern.c is the part that uses tern; job.c has the steps.
 */
#include "job.h"

int main(int argc, char **argv) {
    options o;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int status = options_read(argc, argv, rank == 0, &o);
    if (status < 0)
        status = job_run(&o);
    MPI_Finalize();
    return status;
}
