/*
 * A rank dies while a second rank is in a call of MPI towards it that never ends. A third rank that
 * waits for the second gets an error with the names of both. For a rank that only computes, other
 * ranks go on waiting.
 */

#ifndef TERN_TESTS_HARNESS_STUCK_RANK_H
#define TERN_TESTS_HARNESS_STUCK_RANK_H

#include "survivors.h"

#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"
#include "nothing.h"
#include "src/progress/wait.h"

enum { PATIENCE = 1, STUCK = 1 };

static inline bool put_none(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                            uint64_t bytes) {
    (void)worker, (void)rank, (void)offset, (void)from, (void)bytes;
    return false;
}

/* Stands for an MPI_Win_flush that does not end before this process is killed. */
static inline void flush_for_ever(tern_worker *worker, uint32_t rank) {
    (void)worker;
    if ((int)rank != tern_test_size() - 1)
        return;
    tern_test_kill((int)rank);
    for (;;)
        pause();
}

static inline void compute(double seconds) {
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        ;
}

/* Expects that later waits fail at once, because an earlier wait has found the rank stuck. */
static inline void told_at_once(fixture *f) {
    for (int i = 0; i < 10; i++) {
        tern_wait_state wait = TERN_WAIT_IN("a test");
        EXPECT(TERN_ERR_PEER, tern_wait_step(f->context, &wait, STUCK));
    }
}

/* Rank 1 puts to the last rank, and rank 0 waits for rank 1. opened: called with the context. */
static inline void a_rank_gets_stuck(void (*opened)(fixture *f)) {
    static const tern_put_hook hook = {.put = put_none, .flush = flush_for_ever};
    fixture f;
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.transport = TERN_TRANSPORT_RMA;
    config.ranks_per_node = 1;
    config.peer_patience = PATIENCE;
    config.segment_size = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return;
    opened(&f);
    const uint32_t victim = f.size - 1;
    tern_ptr *all = calloc(f.size, sizeof *all);
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, all);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == victim || f.rank == STUCK)
        tern_test_arrive();
    if (f.rank == victim)
        for (;;)
            (void)tern_progress(f.worker);
    if (f.rank == STUCK) {
        uint64_t word = 1;
        compute(2 * PATIENCE);
        tern_window_set_hook(tern_rma_of(f.context)->window, &hook);
        EXPECT_OK(tern_put(f.worker, all[victim], &word, sizeof word));
        while (!tern_test_all_arrived())
            (void)tern_progress(f.worker);
        tern_ignore(tern_flush(f.worker, victim));
    }
    const tern_worker_id to = {STUCK, 0};
    EXPECT_OK(tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
    tern_test_arrive();
    if (f.rank == 0) {
        char name[64];
        /* Rank STUCK serves calls until it is in the flush, during which the victim dies. */
        while (!tern_test_dead((int)victim))
            (void)tern_progress(f.worker);
        snprintf(name, sizeof name, "towards rank %u, which has died", victim);
        EXPECT(TERN_ERR_PEER,
               tern_call_return(f.worker, to, &nothing_function, NULL, 0, NULL, 0, NULL));
        EXPECT_DETAIL("rank 1 has been stuck for 1 s");
        EXPECT_DETAIL(name);
        told_at_once(&f);
        tern_test_kill(STUCK);
    }
    while (!tern_test_dead(STUCK))
        (void)tern_progress(f.worker);
    free(all);
    fixture_close(&f);
}

#endif
