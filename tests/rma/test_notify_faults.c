// tern-test: ranks survivors least=2

/* A rank dies whose rings and queues others have filled, and while they wait for its events. */

#include "fixture.h"

#include <unistd.h>

enum { QUEUE = 50 };

static fixture f;
static tern_ptr all[64];
static uint64_t sent; /* puts to the rank that dies */

static tern_status put_to(uint32_t rank) {
    const tern_status status =
        tern_put_notify(f.worker, (tern_worker_id){rank, 0}, all[rank], &sent, 8,
                        &(tern_notify_options){.local_cid = sent, .cid = "cid", .cid_bytes = 3});
    sent += status == TERN_OK;
    return status;
}

/* Sends its last event, takes in the first of each of the others, and makes no progress any more:
 * the ring of each pair is open, and nothing is taken out of it. */
static void die_with_full_rings(void) {
    tern_event event;
    EXPECT_OK(tern_put_notify(
        f.worker, (tern_worker_id){0, 0}, all[0], "last", 4,
        &(tern_notify_options){.cid = "w", .cid_bytes = 1, .flags = TERN_NOTIFY_NO_LOCAL}));
    for (uint32_t r = 0; r < f.rank; r++)
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
    EXPECT_OK(tern_barrier(f.worker));
    tern_test_arrive();
    while (!tern_test_all_arrived())
        usleep(1000);
    tern_test_kill((int)f.rank);
}

/* Operations queued for the dead rank are given up, and say so. */
static void put_to_the_dead(uint32_t dead) {
    const double start = MPI_Wtime();
    tern_status status = TERN_OK;
    tern_event event;
    while (status == TERN_OK)
        status = put_to(dead);
    EXPECT(TERN_ERR_AGAIN, status);
    tern_test_arrive();
    while (status != TERN_ERR_PEER && MPI_Wtime() - start < TERN_TEST_PATIENCE) {
        status = put_to(dead);
        CU_ASSERT(status == TERN_ERR_AGAIN || status == TERN_ERR_PEER);
        if (status == TERN_ERR_AGAIN)
            tern_progress(f.worker);
    }
    EXPECT(TERN_ERR_PEER, status);
    EXPECT_DETAIL("has died");
    uint64_t local = 0, failed = 0;
    while (local < sent && MPI_Wtime() - start < TERN_TEST_PATIENCE) {
        if (tern_probe(f.worker, TERN_PROBE_LOCAL, &event) != TERN_OK)
            continue;
        CU_ASSERT_EQUAL(event.local_cid, local++);
        CU_ASSERT(event.status == (local > sent - QUEUE ? TERN_ERR_PEER : TERN_OK));
        failed += event.status == TERN_ERR_PEER;
    }
    CU_ASSERT_EQUAL(local, sent);
    CU_ASSERT_EQUAL(failed, QUEUE);
}

static tern_status probe_until_there(tern_flags what) {
    const double start = MPI_Wtime();
    tern_event event;
    tern_status status = TERN_ERR_EMPTY;
    while (status == TERN_ERR_EMPTY && MPI_Wtime() - start < TERN_TEST_PATIENCE)
        status = tern_probe(f.worker, what, &event);
    return status;
}

static void a_rank_dies(void) {
    if (tern_test_size() < 2) {
        tern_test_skip("somebody has to be left");
        return;
    }
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1; /* what is full stays full */
    config.notify_queue = QUEUE;
    if (!fixture_open(&f, &config))
        return;
    const uint32_t dead = f.size - 1, next = (f.rank + 1) % dead;
    tern_event event;
    fixture_alloc_all(&f, 4096, TERN_DOMAIN_GLOBAL, all);
    EXPECT_OK(tern_team_barrier(f.worker, NULL));
    if (f.rank == dead)
        die_with_full_rings();
    if (f.rank == 0) { /* before anybody else sends */
        EXPECT_OK(tern_event_wait(f.worker, TERN_PROBE_REMOTE, &event));
        CU_ASSERT(event.cid_bytes == 1 && event.cid[0] == 'w');
    }
    EXPECT_OK(put_to(dead));
    EXPECT_OK(tern_barrier(f.worker));
    put_to_the_dead(dead);
    /* The living go on; a wait for one that never comes tells. */
    EXPECT_OK(tern_put_notify(f.worker, (tern_worker_id){next, 0}, all[next], "data", 4,
                              &(tern_notify_options){.local_cid = 7, .cid = "x", .cid_bytes = 1}));
    EXPECT_OK(probe_until_there(TERN_PROBE_REMOTE));
    /* A wait might be told of the death before a ring to the living is set up. */
    EXPECT_OK(probe_until_there(TERN_PROBE_LOCAL));
    EXPECT(TERN_ERR_PEER, tern_event_wait(f.worker, TERN_PROBE_ANY, &event));
    EXPECT(TERN_ERR_PEER, tern_team_barrier(f.worker, NULL));
    /* The root of a broadcast waits for nobody, and is told all the same. */
    EXPECT(TERN_ERR_PEER, tern_team_broadcast(f.worker, NULL, 0, &sent, sizeof sent));
    fixture_meet_living(&f);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"a_rank_dies", a_rank_dies}};
    return tern_test_main(argc, argv, "notify_faults", tests, 1);
}
