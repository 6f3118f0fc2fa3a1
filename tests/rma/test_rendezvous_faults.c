// tern-test: ranks survivors least=2

/* A rank dies with rendezvous open on both sides. */

#include "fixture.h"

#include <sched.h>

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
    if (!fixture_open(&f, &config))
        return;
    uint32_t dead = f.size - 1;
    tern_worker_id it = {dead, 0}, next = {(f.rank + 1) % dead, 0};
    tern_request post = {0}, open = {0};
    tern_descriptor d, kept = {.id = 0};
    tern_ptr mine;
    EXPECT_OK(tern_alloc(f.worker, 4096, 0, TERN_DOMAIN_GLOBAL, &mine));
    EXPECT_OK(tern_barrier(f.worker));
    if (f.rank == dead) {
        tern_request offered[2 * 64] = {0};
        for (uint32_t r = 0; r < dead; r++)
            for (uint64_t tag = 0; tag < 2; tag++)
                EXPECT_OK(tern_post_send(f.worker, (tern_worker_id){r, 0}, tag, mine, 64,
                                         &offered[2 * r + tag]));
        EXPECT_OK(tern_barrier(f.worker));
        tern_test_kill((int)f.rank);
    }
    EXPECT_OK(tern_descriptor_wait(f.worker, it, TERN_POSTED_ANY, 0, &kept));
    EXPECT_OK(tern_post_receive(f.worker, it, 5, mine, 100, &open));
    EXPECT_OK(tern_post_receive(f.worker, it, 6, mine, 100, &post));
    EXPECT_OK(tern_barrier(f.worker));
    /* A wait for it tells. */
    double start = MPI_Wtime();
    EXPECT(TERN_ERR_PEER, tern_wait(f.worker, &open));
    EXPECT_DETAIL("has died");
    EXPECT(TERN_ERR_PEER, tern_descriptor_wait(f.worker, it, TERN_POSTED_ANY, 9, &d));
    EXPECT(TERN_ERR_PEER, tern_descriptor_wait(f.worker, TERN_ANY_WORKER, TERN_POSTED_ANY, 9, &d));
    EXPECT(TERN_ERR_PEER, tern_descriptor_test(f.worker, it, TERN_POSTED_ANY, 9, &d));
    EXPECT(TERN_ERR_EMPTY, tern_descriptor_test(f.worker, TERN_ANY_WORKER, TERN_POSTED_ANY, 9, &d));
    int done = 0;
    EXPECT_OK(tern_test(f.worker, &post, &done));
    CU_ASSERT_EQUAL(done, 1);
    EXPECT(TERN_ERR_PEER, tern_wait(f.worker, &post));
    EXPECT(TERN_ERR_PEER, tern_post_send(f.worker, it, 7, mine, 8, &post));
    EXPECT(TERN_ERR_PEER, tern_rendezvous_finish(f.worker, &kept, 64));
    CU_ASSERT(kept.id != 0);
    /* Its earlier offers are still handed out. */
    EXPECT_OK(tern_descriptor_wait(f.worker, it, TERN_POSTED_ANY, 1, &d));
    CU_ASSERT_EQUAL(d.bytes, 64);
    /* The living go on. */
    uint64_t moved = 0;
    EXPECT_OK(tern_post_receive(f.worker, next, 1, mine, 100, &post));
    tern_status status;
    while ((status = tern_descriptor_test(f.worker, TERN_ANY_WORKER, TERN_POSTED_RECEIVE, 1, &d)) ==
               TERN_ERR_EMPTY &&
           MPI_Wtime() - start < TERN_TEST_PATIENCE)
        sched_yield();
    EXPECT_OK(status);
    EXPECT_OK(tern_put(f.worker, d.place, "x", 1));
    EXPECT_OK(tern_rendezvous_finish(f.worker, &d, 1));
    EXPECT_OK(tern_wait(f.worker, &post));
    moved = tern_request_result(&post);
    CU_ASSERT_EQUAL(moved, 1);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "rendezvous_faults", tests, 1);
}
