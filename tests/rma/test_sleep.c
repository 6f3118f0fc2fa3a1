// tern-test: transports
/*
 * Idle rings are not polled, over whatever transport they are written, and the next record wakes
 * them: calls and notifications in turns, with rests of random length.
 */

#include "fixture.h"
#include "rma/memory/state.h"
#include "src/progress/wait.h"

enum { TURNS = 30 };

static fixture f;
static uint64_t calls, notified;

static tern_status take_call(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    calls++;
    return TERN_OK;
}
TERN_FUNCTION(take_call)

static size_t polled(void) {
    const tern_rma_worker *mine = tern_rma_worker_of(f.worker);
    return mine->active[TERN_CHANNEL_CALLS].count + mine->active[TERN_CHANNEL_NOTIFY].count;
}

static void look(void) {
    tern_event event;
    notified += tern_probe(f.worker, TERN_PROBE_REMOTE, &event) == TERN_OK;
    tern_progress(f.worker);
}

/* A rank that waits looks after itself and others. */
static void wait_until(bool (*over)(uint64_t), uint64_t argument) {
    tern_wait_state wait = TERN_WAIT_START;
    while (!over(argument) && tern_wait_step(f.context, &wait, TERN_ANYBODY) == TERN_OK)
        look();
    CU_ASSERT(over(argument));
}

static bool all_has_come(uint64_t turns) {
    return calls >= turns * f.size && notified >= turns * f.size;
}

static bool all_rests(uint64_t unused) {
    (void)unused;
    return polled() == 0;
}

static void send_to(uint32_t rank) {
    const tern_worker_id target = {rank, 0};
    tern_status status;
    while ((status = tern_call(f.worker, target, &take_call_function, NULL, 0)) == TERN_ERR_AGAIN)
        look();
    EXPECT_OK(status);
    while ((status = tern_put_notify(f.worker, target, TERN_NULL, NULL, 0,
                                     &(tern_notify_options){.flags = TERN_NOTIFY_NO_LOCAL})) ==
           TERN_ERR_AGAIN)
        look();
    EXPECT_OK(status);
}

static void idle_rings(void) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.active_rings = 0;
    config.idle_polls = 3;
    calls = notified = 0;
    if (!fixture_open(&f, &config))
        return;
    uint64_t state = fixture_seed(&f, 5);
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        for (uint64_t rest = tern_test_random(&state) % 200; rest > 0; rest--)
            look();
        for (uint32_t r = 0; r < f.size; r++)
            send_to((f.rank + r) % f.size);
        wait_until(all_has_come, turn);
        if (turn % 3 == 0)
            wait_until(all_rests, 0);
        EXPECT_OK(tern_barrier(f.worker));
    }
    CU_ASSERT_EQUAL(calls, (uint64_t)TURNS * f.size);
    CU_ASSERT_EQUAL(notified, (uint64_t)TURNS * f.size);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT(stats.rings_idled >= 2 * TURNS / 3);
    CU_ASSERT_EQUAL(stats.records_malformed, 0);
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {{"idle rings", idle_rings}};
    return tern_test_main(argc, argv, "sleep", tests, 1);
}
