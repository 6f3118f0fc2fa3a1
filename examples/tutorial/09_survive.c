/* The last rank dies. The others notice it, and go on in a context of their own.
 * Run: mpirun-tern --keep-going -n 3 09_survive */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <tern/tern.h>
#include <unistd.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "survive: %s\n", tern_error_detail());
    exit(1);
}

/* A communicator of all ranks but one. Only those that are in it take part. */
static MPI_Comm without(int dead) {
    MPI_Group all, living;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, &dead, &living);
    MPI_Comm_create_group(MPI_COMM_WORLD, living, 0, &comm);
    MPI_Group_free(&living);
    MPI_Group_free(&all);
    return comm;
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    uint32_t rank = tern_context_rank(context), last = tern_context_size(context) - 1;

    if (rank == last)
        raise(SIGKILL);
    tern_status status = tern_barrier(worker); /* no wait for a dead rank lasts */
    if (status != TERN_ERR_PEER)
        check(status);
    printf("rank %u knows that rank %u is dead\n", rank, tern_context_dead(context));

    check(tern_context_destroy(context)); /* local, after a death */
    check(tern_context_create(without((int)last), NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));
    check(tern_barrier(worker));
    printf("rank %u goes on with %u ranks\n", rank, tern_context_size(context));
    check(tern_context_destroy(context));
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for the dead rank */
}
