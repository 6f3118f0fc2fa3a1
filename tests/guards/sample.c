/* One test for each way in which a test can end: what the harness itself is tested with. */

#include "harness.h"

#include <unistd.h>

static bool last(void) { return tern_test_rank() == tern_test_size() - 1; }

static void passes(void) { CU_ASSERT(tern_test_size() > 0); }

static void fails(void) { CU_ASSERT(!last()); }

static void skips(void) { tern_test_skip("to see it skipped"); }

static void skips_on_one(void) {
    if (last())
        tern_test_skip("to see it run by the others");
}

static void hangs(void) {
    while (last())
        pause();
}

static void dies(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (last())
        tern_test_kill(tern_test_rank());
    CU_ASSERT(!last());
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"passes", passes}, {"fails", fails}, {"skips", skips}, {"skips_on_one", skips_on_one},
        {"hangs", hangs},   {"dies", dies},
    };
    return tern_test_main(argc, argv, "sample", tests, sizeof tests / sizeof *tests);
}
