// tern-test: transports
/*
 * Locks: one holder at a time, turns in order, what a holder put is there for the next, refusals.
 */

#include <stdlib.h>

#include "fixture.h"
#include "src/progress/wait.h"

enum { LOCKS = 5 };

static fixture f;

static bool open_with(size_t service_threads) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.service_threads = service_threads;
    return fixture_open(&f, &config);
}

/* What a lock protects, anywhere: two words that are always equal, written one after the other. */
static bool add_to_both(tern_ptr place) {
    uint64_t words[2] = {0, 0};
    bool good = tern_get(f.worker, &words[0], place, 8) == TERN_OK &&
                tern_get(f.worker, &words[1], tern_ptr_add(place, 8), 8) == TERN_OK &&
                words[0] == words[1];
    words[0]++;
    return good && tern_put(f.worker, place, &words[0], 8) == TERN_OK &&
           tern_put(f.worker, tern_ptr_add(place, 8), &words[0], 8) == TERN_OK;
}

static void exclusion(size_t service_threads, size_t locks_used) {
    if (!open_with(service_threads))
        return;
    tern_locks *locks = NULL;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, LOCKS * 16, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_locks_create(f.worker, LOCKS, &locks));
    uint64_t state = fixture_seed(&f, locks_used), sum = 0;
    uint32_t times = (uint32_t)fixture_times(&f, 2000);
    int wrong = 0;
    for (uint32_t i = 0; i < times; i++) {
        size_t index = (size_t)below(&state, locks_used);
        wrong += tern_lock_acquire(f.worker, locks, index) != TERN_OK;
        /* In the memory of a rank that need not be the lock's. */
        wrong += !add_to_both(tern_ptr_add(all[f.size - 1], (int64_t)(16 * index)));
        wrong += tern_lock_release(f.worker, locks, index) != TERN_OK;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    EXPECT_OK(tern_barrier(f.worker));
    for (int64_t i = 0; i < LOCKS; i++) {
        uint64_t word = 0;
        EXPECT_OK(tern_get(f.worker, &word, tern_ptr_add(all[f.size - 1], 16 * i + 8), 8));
        sum += word;
    }
    CU_ASSERT_EQUAL(sum, (uint64_t)times * f.size);
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    fixture_free_all(&f, all);
    fixture_close(&f);
    free(all);
}

static void one_lock(void) { exclusion(0, 1); }

static void several_locks(void) { exclusion(0, LOCKS); }

static void by_service_threads(void) { exclusion(1, 2); }

/* Permits a rank to ask for the lock that this rank keeps, and waits until it has. */
static void let_ask(uint32_t rank, tern_ptr permission) {
    static const uint64_t permitted = 1;
    tern_stats before, now;
    tern_wait_state wait = TERN_WAIT_START;
    tern_stats_get(f.worker, &before);
    EXPECT_OK(tern_put(f.worker, permission, &permitted, 8));
    EXPECT_OK(tern_flush(f.worker, rank));
    do {
        tern_progress(f.worker);
        tern_stats_get(f.worker, &now);
    } while (now.calls_executed == before.calls_executed &&
             tern_wait_step(f.context, &wait, rank) == TERN_OK);
    CU_ASSERT_EQUAL(now.calls_executed, before.calls_executed + 1);
}

static void wait_for_permission(tern_ptr permission) {
    tern_wait_state wait = TERN_WAIT_START;
    uint64_t permitted = 0;
    do {
        tern_progress(f.worker);
        EXPECT_OK(tern_atomic_load(f.worker, permission, &permitted));
    } while (permitted == 0 && tern_wait_step(f.context, &wait, 0) == TERN_OK);
}

/* Rank 0 holds the lock until all others have asked for it, one after the other: each when rank 0
 * has run the call of the one before. They get it in this order. */
static void turns(void) {
    if (!open_with(0))
        return;
    tern_locks *locks = NULL;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 8 + 8 * f.size, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_locks_create(f.worker, 1, &locks));
    if (f.rank == 0)
        EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        /* Calls of a rank to itself and of others: what has been asked for is seen by trying. */
        int taken = 1;
        EXPECT(TERN_ERR_STATE, tern_lock_try(f.worker, locks, 0, &taken));
        for (uint32_t r = 1; r < f.size; r++)
            let_ask(r, all[r]);
        EXPECT_OK(tern_lock_release(f.worker, locks, 0));
    } else {
        uint64_t place = 0, me = f.rank;
        wait_for_permission(all[f.rank]);
        EXPECT_OK(tern_lock_acquire(f.worker, locks, 0));
        EXPECT_OK(tern_get(f.worker, &place, all[0], 8));
        place++;
        EXPECT_OK(tern_put(f.worker, all[0], &place, 8));
        EXPECT_OK(tern_put(f.worker, tern_ptr_add(all[0], (int64_t)(8 * place)), &me, 8));
        EXPECT_OK(tern_lock_release(f.worker, locks, 0));
    }
    EXPECT_OK(tern_barrier(f.worker));
    const uint64_t *words = tern_local(f.context, all[f.rank]);
    if (f.rank == 0) {
        CU_ASSERT_EQUAL(words[0], f.size - 1);
        for (uint64_t i = 1; i < f.size; i++)
            CU_ASSERT_EQUAL(words[i], i);
    }
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    fixture_free_all(&f, all);
    fixture_close(&f);
    free(all);
}

static void tries(void) {
    if (!open_with(0))
        return;
    tern_locks *locks = NULL;
    EXPECT_OK(tern_locks_create(f.worker, f.size, &locks));
    for (size_t i = 0; i < f.size; i++) {
        int taken = -1;
        uint64_t holders = 0;
        EXPECT_OK(tern_lock_try(f.worker, locks, i, &taken));
        holders = (uint64_t)taken;
        EXPECT_OK(tern_barrier(f.worker));
        if (taken == 1)
            EXPECT_OK(tern_lock_release(f.worker, locks, i));
        tern_mpi_lock();
        MPI_Allreduce(MPI_IN_PLACE, &holders, 1, MPI_UINT64_T, MPI_SUM, f.comm);
        tern_mpi_unlock();
        CU_ASSERT_EQUAL(holders, 1);
        EXPECT_OK(tern_quiesce(f.worker));
    }
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    fixture_close(&f);
}

static tern_locks *shared;
static tern_status in_handler;

static tern_status lock_in_handler(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)arguments;
    (void)bytes;
    in_handler = tern_lock_acquire(call->worker, shared, 0);
    return TERN_OK;
}
TERN_FUNCTION(lock_in_handler)

static void refusals(void) {
    if (!open_with(0))
        return;
    tern_locks *locks = NULL;
    int taken = 7;
    EXPECT(TERN_ERR_ARGUMENT, tern_locks_create(NULL, 1, &locks));
    EXPECT(TERN_ERR_ARGUMENT, tern_locks_create(f.worker, 0, &locks));
    if (f.size > 1)
        EXPECT(TERN_ERR_MISMATCH, tern_locks_create(f.worker, 1 + f.rank, &locks));
    CU_ASSERT_PTR_NULL(locks);
    EXPECT_OK(tern_locks_create(f.worker, 2, &locks));
    EXPECT(TERN_ERR_ARGUMENT, tern_lock_acquire(f.worker, locks, 2));
    EXPECT(TERN_ERR_ARGUMENT, tern_lock_acquire(f.worker, NULL, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_lock_acquire(NULL, locks, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_lock_try(f.worker, locks, 1, NULL));
    EXPECT(TERN_ERR_STATE, tern_lock_release(f.worker, locks, 0));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == 0) {
        EXPECT_OK(tern_lock_acquire(f.worker, locks, 1));
        EXPECT(TERN_ERR_STATE, tern_lock_acquire(f.worker, locks, 1));
        EXPECT(TERN_ERR_STATE, tern_lock_try(f.worker, locks, 1, &taken));
        CU_ASSERT_EQUAL(taken, 7);
    }
    EXPECT_OK(tern_barrier(f.worker));
    EXPECT(TERN_ERR_STATE, tern_locks_destroy(f.worker, locks));
    if (f.rank == 0)
        EXPECT_OK(tern_lock_release(f.worker, locks, 1));
    shared = locks;
    EXPECT_OK(tern_call(f.worker, tern_worker_self(f.worker), &lock_in_handler_function, NULL, 0));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(in_handler, TERN_ERR_STATE);
    EXPECT_OK(tern_locks_destroy(f.worker, locks));
    EXPECT_OK(tern_locks_destroy(f.worker, NULL));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"one lock", one_lock},
        {"several locks", several_locks},
        {"by service threads", by_service_threads},
        {"turns", turns},
        {"tries", tries},
        {"refusals", refusals},
    };
    return tern_test_main(argc, argv, "lock", tests, sizeof tests / sizeof tests[0]);
}
