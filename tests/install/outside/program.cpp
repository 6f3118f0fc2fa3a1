// The least that a C++ program can do with tern: it links with what pkg-config says alone.

#include <cstdio>

#include <mpi.h>
#include <tern/tern.h>

static tern_status meet() {
    tern_context *context;
    tern_status status = tern_context_create(MPI_COMM_WORLD, nullptr, &context);
    if (status != TERN_OK)
        return status;
    tern_worker *worker;
    status = tern_worker_adopt(context, 0, &worker);
    if (status == TERN_OK)
        status = tern_barrier(worker);
    tern_status destroyed = tern_context_destroy(context);
    return status != TERN_OK ? status : destroyed;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    tern_status status = meet();
    if (status != TERN_OK)
        std::fprintf(stderr, "%s: %s\n", tern_strerror(status), tern_error_detail());
    MPI_Finalize();
    return status != TERN_OK;
}
