/* A stencil as MPI programs have them: halo exchange and a norm in each step. It knows nothing of
 * tern. */

#include <mpi.h>

enum { CELLS = 100 };

/* Returns the sum of all cells after so many steps: with periodic ends it stays what it was. */
double stencil(MPI_Comm comm, int steps) {
    double cell[CELLS + 2], fresh[CELLS + 2], norm = 0, total = 0;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 1; i <= CELLS; i++)
        cell[i] = rank == 0 && i == 1;
    for (int step = 0; step < steps; step++) {
        MPI_Sendrecv(&cell[1], 1, MPI_DOUBLE, left, 0, &cell[CELLS + 1], 1, MPI_DOUBLE, right, 0,
                     comm, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&cell[CELLS], 1, MPI_DOUBLE, right, 1, &cell[0], 1, MPI_DOUBLE, left, 1, comm,
                     MPI_STATUS_IGNORE);
        norm = 0;
        for (int i = 1; i <= CELLS; i++) {
            fresh[i] = cell[i] / 2 + (cell[i - 1] + cell[i + 1]) / 4;
            norm += fresh[i];
        }
        for (int i = 1; i <= CELLS; i++)
            cell[i] = fresh[i];
        MPI_Allreduce(&norm, &total, 1, MPI_DOUBLE, MPI_SUM, comm);
    }
    return total;
}
