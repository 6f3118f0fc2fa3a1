// tern-test: ranks survivors least=2

/*
 * A rank dies while puts to it are under way over rma. The network is the test's: it keeps what is
 * posted, since MPI's own flush to the dead may never end.
 */

#include "board.h"
#include "fixture.h"

#include "rma/memory/state.h"
#include "rma/transport/mpi_rma.h"

static uint32_t flushed; /* ranks, by bit */

static bool keep(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                 uint64_t bytes) {
    (void)worker;
    (void)rank;
    (void)offset;
    (void)from;
    (void)bytes;
    return true;
}

static void note(tern_worker *worker, uint32_t rank) {
    (void)worker;
    flushed |= 1u << rank;
}

static const tern_put_hook hook = {.put = keep, .flush = note};

static void wait_for_death(fixture *f, uint32_t rank) {
    double start = MPI_Wtime();
    while (!tern_peer_is_dead(&f->context->peers, rank) && MPI_Wtime() - start < TERN_TEST_PATIENCE)
        tern_peers_look(&f->context->peers);
    CU_ASSERT(tern_peer_is_dead(&f->context->peers, rank));
}

/* Its pieces come free without a flush, nothing more is put to it, and the others are served. */
static void survive(fixture *f, tern_circular *c, const tern_ptr *all, uint32_t dead) {
    uint64_t word = 7;
    tern_piece pieces[3];
    CU_ASSERT_EQUAL(flushed, 0);
    for (int i = 0; i < 3; i++)
        EXPECT_OK(tern_piece_take(f->worker, c, 8, &pieces[i]));
    EXPECT(TERN_ERR_PEER, tern_circular_put(f->worker, c, all[dead], &word, 8));
    EXPECT(TERN_ERR_PEER, tern_piece_put(f->worker, c, &pieces[0], all[dead], 8));
    EXPECT_DETAIL("has died");
    for (int i = 0; i < 3; i++)
        EXPECT_OK(tern_piece_put(f->worker, c, &pieces[i], all[f->rank], 8));
    CU_ASSERT_EQUAL(flushed, 0);
    if (dead > 1)
        for (int i = 0; i < 9; i++)
            EXPECT_OK(tern_circular_put(f->worker, c, all[(f->rank + 1) % dead], &word, 8));
    CU_ASSERT_EQUAL(flushed, dead > 1 ? 1u << (f->rank + 1) % dead : 0);
}

static void a_rank_dies(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.transport = TERN_TRANSPORT_RMA;
    config.ranks_per_node = 1;
    if (!fixture_open(&f, &config))
        return;
    uint32_t dead = f.size - 1;
    uint64_t word = 7;
    tern_ptr all[64];
    fixture_alloc_all(&f, 4096, TERN_DOMAIN_GLOBAL, all);
    tern_circular *c = NULL;
    tern_circular_options options = {
        .unit_bytes = 64, .units = 4, .units_max = 4, .flush_every = SIZE_MAX};
    EXPECT_OK(tern_circular_create(f.worker, &options, &c));
    EXPECT_OK(tern_barrier(f.worker));
    tern_window_set_hook(tern_rma_of(f.context)->window, &hook);
    for (int i = 0; i < 4 && f.rank != dead; i++)
        EXPECT_OK(tern_circular_put(f.worker, c, all[dead], &word, 8));
    /* Not before the others are out of the barrier and have put. */
    bool mine[2] = {false, false}, any[2];
    tern_board_meet(mine, any);
    if (f.rank == dead)
        tern_test_kill((int)f.rank);
    wait_for_death(&f, dead);
    survive(&f, c, all, dead);
    EXPECT_OK(tern_circular_destroy(f.worker, c));
    fixture_meet_living(&f); /* a rank that still puts to this one needs its help */
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "circular_faults", tests, 1);
}
