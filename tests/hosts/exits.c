/* Rank 1 ends without a word, in a PID namespace of its own: rank 0, which waits for it, is told.
 */

#include <stdio.h>
#include <unistd.h>

#include <mpi.h>

#include "tern/tern.h"

int main(int argc, char **argv) {
    int provided = 0, rank = 0;
    tern_context *context = NULL;
    tern_worker *worker = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tern_status status = tern_context_create(MPI_COMM_WORLD, NULL, &context);
    if (status == TERN_OK)
        status = tern_worker_adopt(context, 0, &worker);
    if (status == TERN_OK)
        status = tern_barrier(worker);
    if (status != TERN_OK) {
        printf("FAILED: rank %d: %s (%s)\n", rank, tern_strerror(status), tern_error_detail());
        fflush(stdout);
        _exit(1);
    }
    if (rank == 1)
        _exit(0);
    const double began = MPI_Wtime();
    status = tern_barrier(worker);
    const double told = MPI_Wtime() - began;
    printf("%s: process %d was told '%s' after %.2f s\n",
           status == TERN_ERR_PEER ? "passed" : "FAILED", (int)getpid(), tern_error_detail(), told);
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for rank 1 */
}
