// tern-test: ranks survivors least=4

/* A rank that is stuck in MPI, of which its listener tells ranks of other machines
 * (src/peers/watch.h). */

#include "distant.h"
#include "stuck_rank.h"

static void a_remote_rank_is_stuck(void) { a_rank_gets_stuck(forget_pidfds); }

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_remote_rank_is_stuck", a_remote_rank_is_stuck}};
    return tern_test_main(argc, argv, "stuck_remote_faults", tests, 1);
}
