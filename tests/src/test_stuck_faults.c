// tern-test: ranks survivors least=3

/* A rank that is stuck in MPI, of which the ranks of its machine read where (src/peers/stuck.h). */

#include "stuck_rank.h"

static void leave_as_it_is(fixture *f) { (void)f; }

static void a_rank_is_stuck(void) { a_rank_gets_stuck(leave_as_it_is); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_is_stuck", a_rank_is_stuck}};
    return tern_test_main(argc, argv, "stuck_faults", tests, 1);
}
