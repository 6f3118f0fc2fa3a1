// tern-test: ranks survivors least=3

/* As test_hashtable_create_faults.c, of locks. */

#include "last_barrier.h"

/* Those that rank 0 keeps. */
static void take_and_give_back(fixture *f, tern_locks *locks) {
    for (size_t i = 0; i < 20; i++) {
        int taken = 7;
        EXPECT_OK(tern_lock_try(f->worker, locks, i % 2 * f->size, &taken));
        CU_ASSERT_EQUAL_FATAL(taken, 1);
        EXPECT_OK(tern_lock_release(f->worker, locks, i % 2 * f->size));
    }
}

static void a_rank_dies_in_the_last_barrier(void) {
    fixture f;
    if (!open_for_two_survivors(&f))
        return;
    tern_locks *locks = NULL;
    count_meetings(&f);
    EXPECT_OK(tern_locks_create(f.worker, 2 * f.size, &locks));
    const int meetings = last_barrier.met;
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    locks = NULL;
    last_barrier.in = meetings;
    tern_status status = tern_locks_create(f.worker, 2 * f.size, &locks);
    EXPECT(f.rank == 0 ? TERN_ERR_PEER : TERN_OK, status);
    let_rank_0_return(&f);
    if (f.rank == 1)
        take_and_give_back(&f, locks);
    fixture_meet_living(&f);
    if (locks != NULL)
        EXPECT(TERN_ERR_PEER, tern_locks_destroy(f.worker, locks));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"a_rank_dies_in_the_last_barrier", a_rank_dies_in_the_last_barrier},
    };
    return tern_test_main(argc, argv, "lock_create_faults", tests, 1);
}
