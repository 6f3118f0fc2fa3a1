// tern-test: ranks survivors least=2

/* A rank dies while rows of others travel from and to it. */

#include "fixture.h"

#include <unistd.h>

enum { ROWS = 200 };

static const tern_section rows = {.element_bytes = 8,
                                  .dimensions = 1,
                                  .count = {ROWS},
                                  .remote_stride = {16},
                                  .local_stride = {24}};

/* Makes no progress any more, so what the others start stays under way until it dies. */
static void die_without_serving(const fixture *f) {
    tern_test_arrive();
    while (!tern_test_all_arrived())
        usleep(1000);
    tern_test_kill((int)f->rank);
}

static void expect_failed_event(fixture *f) {
    const double start = MPI_Wtime();
    tern_event event;
    tern_status status = TERN_ERR_EMPTY;
    while (status == TERN_ERR_EMPTY && MPI_Wtime() - start < TERN_TEST_PATIENCE)
        status = tern_probe(f->worker, TERN_PROBE_LOCAL, &event);
    if (EXPECT(TERN_OK, status))
        CU_ASSERT(event.local_cid == 5 && event.status == TERN_ERR_PEER && event.is_get == 1);
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
    config.transport = TERN_TRANSPORT_P2P;
    config.ranks_per_node = 1;
    if (!fixture_open(&f, &config))
        return;
    static char memory[4][24 * ROWS];
    tern_ptr all[64];
    const uint32_t dead = f.size - 1;
    fixture_alloc_all(&f, 16 * ROWS, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == dead)
        die_without_serving(&f);
    tern_request tested = {0}, waited = {0};
    const tern_notify_options options = {.local_cid = 5};
    EXPECT_OK(tern_get_strided_start(f.worker, memory[0], all[dead], &rows, &tested));
    EXPECT_OK(tern_get_strided_start(f.worker, memory[1], all[dead], &rows, &waited));
    EXPECT_OK(tern_get_strided_notify(f.worker, (tern_worker_id){dead, 0}, memory[2], all[dead],
                                      &rows, &options));
    tern_test_arrive();
    for (int done = 0; !done;) {
        EXPECT_OK(tern_test(f.worker, &tested, &done));
        sched_yield();
    }
    EXPECT(TERN_ERR_PEER, tern_wait(f.worker, &tested));
    EXPECT(TERN_ERR_PEER, tern_wait(f.worker, &waited));
    EXPECT_DETAIL("has died");
    expect_failed_event(&f);
    EXPECT(TERN_ERR_PEER, tern_get_strided(f.worker, memory[3], all[dead], &rows));
    EXPECT(TERN_ERR_PEER, tern_get_strided_notify(f.worker, (tern_worker_id){dead, 0}, memory[3],
                                                  all[dead], &rows, NULL));
    /* The living are reached as before. */
    const tern_ptr next = all[(f.rank + 1) % dead];
    EXPECT_OK(tern_put_strided(f.worker, next, memory[3], &rows));
    EXPECT_OK(tern_flush(f.worker, next.rank));
    EXPECT_OK(tern_get_strided(f.worker, memory[3], next, &rows));
    fixture_meet_living(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "strided_faults", tests, 1);
}
