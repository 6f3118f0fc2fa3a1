// The least that a C++ program can do with tern: it links with what pkg-config says alone.

#include <mpi.h>
#include <tern/tern.hpp>

static void meet() {
    auto context = tern::context::create(MPI_COMM_WORLD).value();
    auto worker = context.adopt().value();
    tern::barrier(worker).value();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    meet();
    return MPI_Finalize();
}
