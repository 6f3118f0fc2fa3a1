// tern-test: ranks survivors least=2

/* A rank dies before it comes to create a context. The others are told, and go on in a context over
 * a communicator of their own, which was made before. */

#include "survivors.h"

static void a_death_before_creation(void) {
    const int victim = tern_test_size() - 1;
    bool mine[2] = {false, false}, any[2];
    fixture f;
    MPI_Comm rest;
    tern_context *context = NULL;
    MPI_Comm_split(MPI_COMM_WORLD, tern_test_rank() == victim, tern_test_rank(), &rest);
    /* No rank needs the victim for the split any more. */
    tern_board_meet(mine, any);
    if (tern_test_rank() == victim)
        die_outside_mpi();
    start_clock();
    (void)TOLD((uint32_t)victim, tern_context_create(MPI_COMM_WORLD, NULL, &context));
    if (!fixture_open_on(&f, rest, NULL))
        return;
    EXPECT_OK(tern_barrier(f.worker));
    fixture_close(&f);
    MPI_Comm_free(&rest);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a death before creation", a_death_before_creation}};
    return tern_test_main(argc, argv, "second_context_faults", tests, 1);
}
