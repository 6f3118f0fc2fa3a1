/* Every rank says who it is and how it reaches its neighbour. Run: mpirun -n 2 01_hello */
#include <stdio.h>
#include <tern/tern.h>

static void check(tern_status status) {
    if (status == TERN_OK)
        return;
    fprintf(stderr, "hello: %s\n", tern_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    tern_context *context;
    tern_worker *worker;
    tern_transport transport;
    MPI_Init(&argc, &argv);
    check(tern_context_create(MPI_COMM_WORLD, NULL, &context));
    check(tern_worker_adopt(context, 0, &worker));

    uint32_t rank = tern_context_rank(context), size = tern_context_size(context);
    uint32_t next = (rank + 1) % size;
    check(tern_context_transport(context, next, &transport));
    printf("rank %u of %u reaches rank %u by %s\n", rank, size, next,
           tern_transport_name(transport));

    check(tern_context_destroy(context));
    return MPI_Finalize();
}
