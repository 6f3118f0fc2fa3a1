/* The ranks of a node make a mailbox together. */

#include <stdio.h>

#include <mpi.h>
#include <tern/mailbox_node.h>
#include <tern/tern.h>

static tern_status run(void) {
    tern_context *context;
    tern_worker *worker;
    tern_status status = tern_context_create(MPI_COMM_WORLD, NULL, &context);
    if (status != TERN_OK)
        return status;
    status = tern_worker_adopt(context, 0, &worker);
    if (status == TERN_OK) {
        tern_mailbox_share *share;
        status = tern_mailbox_create_on_node(worker, NULL, &share);
        if (status == TERN_OK)
            tern_mailbox_destroy(share);
    }
    tern_status destroyed = tern_context_destroy(context);
    return status != TERN_OK ? status : destroyed;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    tern_status status = run();
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", tern_strerror(status), tern_error_detail());
    MPI_Finalize();
    return status != TERN_OK;
}
