// tern-test: ranks survivors least=2

/* A rank dies while others put to it, and while they wait for its events. */

#include "fixture.h"

static void a_rank_dies(void) {
    fixture f;
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.notify_queue = 50;
    if (!fixture_open(&f, &config))
        return;
    uint32_t dead = f.size - 1, next = (f.rank + 1) % dead;
    tern_ptr all[64];
    fixture_alloc_all(&f, 4096, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_notify_barrier(f.worker));
    if (f.rank == dead) {
        EXPECT_OK(tern_put_notify(f.worker, (tern_worker_id){0, 0}, all[0], "last", 4, 0, "w", 1,
                                  TERN_NOTIFY_NO_LOCAL));
        EXPECT_OK(tern_barrier(f.worker));
        tern_test_kill((int)f.rank);
    }
    tern_event event;
    if (f.rank == 0) { /* before anybody else sends */
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
        CU_ASSERT(event.cid_bytes == 1 && event.cid[0] == 'w');
    }
    EXPECT_OK(tern_barrier(f.worker));
    /* What was queued for the dead is given up, and says so. */
    double start = MPI_Wtime();
    uint64_t sent = 0, failed = 0, local = 0;
    tern_status status = TERN_OK;
    while (status != TERN_ERR_PEER && MPI_Wtime() - start < 5) {
        status = tern_put_notify(f.worker, (tern_worker_id){dead, 0}, all[dead], &sent, 8, sent,
                                 "cid", 3, 0);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN || status == TERN_ERR_PEER);
        sent += status == TERN_OK;
        if (status == TERN_ERR_AGAIN)
            tern_progress(f.worker);
    }
    CU_ASSERT_EQUAL(status, TERN_ERR_PEER);
    EXPECT_DETAIL("has died");
    while (local < sent && MPI_Wtime() - start < 5) {
        if (tern_probe(f.worker, TERN_PROBE_LOCAL, &event) != TERN_OK)
            continue;
        CU_ASSERT_EQUAL(event.local_cid, local++);
        CU_ASSERT(event.status == TERN_OK || event.status == TERN_ERR_PEER);
        failed += event.status == TERN_ERR_PEER;
    }
    CU_ASSERT_EQUAL(local, sent);
    CU_ASSERT_EQUAL(failed, 50);
    /* The living go on; a wait for one that never comes tells. */
    EXPECT_OK(
        tern_put_notify(f.worker, (tern_worker_id){next, 0}, all[next], "data", 4, 7, "x", 1, 0));
    start = MPI_Wtime();
    while ((status = tern_probe(f.worker, TERN_PROBE_REMOTE, &event)) == TERN_ERR_EMPTY &&
           MPI_Wtime() - start < 5)
        ;
    EXPECT_OK(status);
    /* A wait might be told of the death before a ring to the living is set up. */
    while ((status = tern_probe(f.worker, TERN_PROBE_LOCAL, &event)) == TERN_ERR_EMPTY &&
           MPI_Wtime() - start < 5)
        ;
    EXPECT_OK(status);
    EXPECT(TERN_ERR_PEER, tern_event_wait(f.worker, TERN_PROBE_ANY, &event));
    EXPECT(TERN_ERR_PEER, tern_notify_barrier(f.worker));
    /* The root of a broadcast waits for nobody, and is told all the same. */
    EXPECT(TERN_ERR_PEER, tern_notify_broadcast(f.worker, f.rank, &sent, sizeof sent));
    CU_ASSERT(MPI_Wtime() - start < 5);
    fixture_meet_living(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "notify_faults", tests, 1);
}
