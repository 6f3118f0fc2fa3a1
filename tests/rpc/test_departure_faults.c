// tern-test: ranks survivors least=2

/* A flush waits for what is queued for a rank, and the rank dies. */

#include "fixture.h"

static fixture f;

static tern_status fall(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    tern_test_die();
    return TERN_OK;
}
TERN_FUNCTION(fall)

static uint32_t here;

static tern_status come(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    here++;
    return TERN_OK;
}
TERN_FUNCTION(come)

/* Until a full ring makes them wait: nobody probes. The first one has left, so the ring is there.
 */
static void fill(tern_worker_id to, tern_ptr place) {
    tern_stats before, now;
    EXPECT_OK(tern_put_notify(f.worker, to, place, &before, 8,
                              &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL}));
    EXPECT_OK(tern_flush(f.worker, to.rank));
    tern_stats_get(f.worker, &before);
    do {
        EXPECT_OK(tern_put_notify(f.worker, to, place, &before, 8,
                                  &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL}));
        tern_stats_get(f.worker, &now);
    } while (now.notices_queued < before.notices_queued + 3);
}

static void while_it_waits(void) {
    tern_ptr all[64];
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 1;
    if (!fixture_open(&f, &config))
        return;
    const uint32_t dead = f.size - 1;
    const tern_worker_id victim = {dead, 0};
    fixture_alloc_all(&f, 64, TERN_DOMAIN_OWNER, all);
    if (f.rank == dead)
        for (;;)
            tern_progress(f.worker);
    if (f.rank > 0)
        EXPECT_OK(tern_call(f.worker, (tern_worker_id){0, 0}, &come_function, all, 8));
    if (f.rank == 0) {
        while (here < dead - 1) /* nobody is in MPI any more */
            tern_progress(f.worker);
        fill(victim, all[dead]);
        EXPECT_OK(tern_call(f.worker, victim, &fall_function, all, 8));
        EXPECT(TERN_ERR_PEER, tern_flush(f.worker, dead));
        EXPECT_DETAIL("has died");
    }
    fixture_meet_living(&f);
    /* Of the living nothing is queued. */
    for (uint32_t r = 0; r < dead; r++)
        EXPECT_OK(tern_flush(f.worker, r));
    fixture_meet_living(&f); /* a flush over rma takes the other rank's progress */
    EXPECT_OK(tern_worker_release(f.worker));
    tern_ignore(tern_context_destroy(f.context));
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"while_it_waits", while_it_waits}};
    return tern_test_main(argc, argv, "departure_faults", tests, 1);
}
