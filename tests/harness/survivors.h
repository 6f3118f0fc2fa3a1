/*
 * What the suites share in which a rank dies. One of the ranks, the victim, is killed while others
 * wait for it; the survivors get an error, meet, and go on. How soon they are told is not asserted:
 * a survivor that is never told hangs, and the deadline of the program says in which test.
 */

#ifndef TERN_TESTS_HARNESS_SURVIVORS_H
#define TERN_TESTS_HARNESS_SURVIVORS_H

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "board.h"
#include "fixture.h"

static double began;

static inline void start_clock(void) { began = MPI_Wtime(); }

/* For loops: whether so little time has passed since start_clock that nothing hangs. */
static inline bool still_patient(void) { return MPI_Wtime() - began < TERN_TEST_PATIENCE; }

/* Expects that a wait ended because of the death of rank victim, and that the detail says so. */
static inline bool was_told(tern_status status, const char *call, uint32_t victim, unsigned line) {
    char name[32];
    snprintf(name, sizeof name, "rank %u", victim);
    bool good = tern_expect(status, TERN_ERR_PEER, call, line, __FILE__);
    if (good)
        tern_expect_detail(name, line, __FILE__);
    return good;
}

#define TOLD(victim, call) was_told(call, #call, victim, __LINE__)

/* Opens a context if at least two ranks are left when one dies. */
static inline bool open_for_two_survivors(fixture *f) {
    if (tern_test_size() < 3) {
        tern_test_skip("two have to be left");
        return false;
    }
    return fixture_open(f, NULL);
}

static struct {
    tern_ptr counter; /* on the lowest survivor */
    uint32_t victim;
    uint32_t met;
} play;

static inline bool survivors_open(fixture *f, uint32_t victim) {
    tern_config config;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return false;
    }
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    if (!fixture_open(f, &config))
        return false;
    play.victim = victim;
    play.met = 0;
    tern_ptr *all = calloc(f->size, sizeof *all);
    fixture_alloc_all(f, 64, TERN_DOMAIN_OWNER, all);
    play.counter = all[victim == 0 ? 1 : 0];
    free(all);
    return true;
}

/* The survivors count themselves by an atomic, and make progress until all of them have come. */
static inline void meet_survivors(fixture *f) {
    uint64_t here = 0, all = (uint64_t)(f->size - 1) * ++play.met;
    EXPECT_OK(tern_atomic_fetch_add(f->worker, play.counter, 1, NULL));
    while (here < all) {
        if (!EXPECT_OK(tern_atomic_load(f->worker, play.counter, &here)))
            return;
        tern_progress(f->worker);
        sched_yield();
    }
    /* Others may still have to ask this rank how many came. */
    for (double end = MPI_Wtime() + 0.2; !fixture_all_direct(f) && MPI_Wtime() < end; sched_yield())
        tern_progress(f->worker);
}

/* Kills the rank, in any of its threads, but not inside MPI: a rank that dies while it puts a
 * message into a queue that MPI's processes share leaves the others' messages behind it for ever,
 * and under Open MPI the reader of that queue never comes back from MPI. */
static inline void die_outside_mpi(void) {
    tern_mpi_lock();
    tern_test_kill(tern_test_rank());
}

/* A thread of the victim's: kills it after so many microseconds, wherever the other threads are,
 * but not inside MPI. */
static inline void *die_in_time(void *moment_us) {
    usleep((useconds_t) * (const uint64_t *)moment_us);
    tern_mpi_lock();
    tern_test_die();
    return NULL;
}

static uint64_t rounds_left; /* of the victim's progress */

/* A hook of the victim's progress: kills it in that round. */
static inline size_t die_in_round(tern_worker *worker, void *argument) {
    (void)worker, (void)argument;
    if (rounds_left-- == 0)
        tern_test_kill(tern_test_rank());
    return 0;
}

/* Sleeps, without any progress, until the others are in their wait, and then dies. */
static inline void die_later(void) {
    usleep(200000);
    die_outside_mpi();
}

/* Collective: the victim makes no progress from here on, and dies while the others wait. */
static inline void lose_later(fixture *f) {
    bool mine[2] = {false, false}, any[2];
    EXPECT_OK(tern_barrier(f->worker));
    /* A rank that is still in the barrier would serve others. */
    tern_board_meet(mine, any);
    if (f->rank == play.victim)
        die_later();
    start_clock();
}

/* Destroys the context when no survivor uses it any more. */
static inline void survivors_close(fixture *f) {
    meet_survivors(f);
    fixture_close(f);
}

#endif
