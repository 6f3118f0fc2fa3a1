/*
 * A rank dies that holds a lock, waits for one, or keeps it: those that wait are told, and none
 * hangs. Each test is a run of its own (CMakeLists.txt).
 */

#include "survivors.h"

static fixture f;
static tern_locks *locks;

/* The last rank is the victim, and keeps the last lock; rank 0 keeps the first. */
static bool open_locks(uint32_t *victim) {
    *victim = (uint32_t)tern_test_size() - 1;
    return survivors_open(&f, *victim) && EXPECT_OK(tern_locks_create(f.worker, f.size, &locks));
}

static void close_locks(uint32_t victim) {
    start_clock();
    TOLD(victim, tern_locks_destroy(f.worker, locks));
    survivors_close(&f);
}

static void progress_for(double seconds) {
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end; sched_yield())
        tern_progress(f.worker);
}

static void the_holder(void) {
    uint32_t victim;
    if (!open_locks(&victim))
        return;
    if (f.rank == victim)
        EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
    lose_later(&f);
    TOLD(victim, tern_lock_acquire(f.worker, locks, 0));
    /* A rank that does not wait is not told: the lock is never free again. */
    meet_survivors(&f);
    int taken = 7;
    EXPECT_OK(tern_lock_try(f.worker, locks, 0, &taken));
    CU_ASSERT_EQUAL(taken, 0);
    meet_survivors(&f);
    close_locks(victim);
}

/* The turn that comes to the dead, and to one that has given up, harms nobody. */
static void a_waiter(void) {
    uint32_t victim;
    if (!open_locks(&victim))
        return;
    if (f.rank == 0)
        EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        progress_for(0.3);
        tern_test_kill((int)victim);
        progress_for(0.3);
        EXPECT_OK(tern_lock_release(f.worker, locks, 0));
    } else {
        start_clock();
        TOLD(victim, tern_lock_acquire(f.worker, locks, 0));
    }
    meet_survivors(&f);
    /* What nobody has lost can still be had, by those who only ask. */
    int taken = 7;
    EXPECT_OK(tern_lock_try(f.worker, locks, f.rank, &taken));
    CU_ASSERT_EQUAL(taken, f.rank != 0);
    if (taken)
        EXPECT_OK(tern_lock_release(f.worker, locks, f.rank));
    meet_survivors(&f);
    close_locks(victim);
}

static void the_keeper(void) {
    uint32_t victim;
    if (!open_locks(&victim))
        return;
    if (f.rank == 0)
        EXPECT_OK(tern_lock_acquire(f.worker, locks, victim));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim) {
        progress_for(0.3); /* takes in the ranks that wait */
        die_later();
    }
    start_clock();
    int taken = 7;
    if (f.rank == 0) {
        EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
        progress_for(1);
        tern_status status = tern_lock_release(f.worker, locks, victim);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_PEER);
        EXPECT_OK(tern_lock_release(f.worker, locks, 0));
    }
    TOLD(victim, tern_lock_acquire(f.worker, locks, victim));
    TOLD(victim, tern_lock_try(f.worker, locks, victim, &taken));
    CU_ASSERT_EQUAL(taken, 7);
    /* A rank that has nothing to wait for destroys the locks long before rank 0 does. */
    close_locks(victim);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"the_holder", the_holder}, {"a_waiter", a_waiter}, {"the_keeper", the_keeper}};
    return tern_test_main(argc, argv, "locks", tests, sizeof tests / sizeof tests[0]);
}
