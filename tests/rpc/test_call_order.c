// tern-test: transports

/* Calls under way: order, exactly once, full and idle rings, floods, handlers that call back. */

#include "call_tools.h"

#include <sched.h>
#include <stdlib.h>

/* All to all, any size; each pair in order, once each. */
static void order_under(const tern_config *config, int shm_times) {
    fixture f;
    if (!fixture_open(&f, config))
        return;
    size_t most = config->ring_size / 2 - 64;
    unsigned char *arguments = malloc(most);
    uint64_t random = fixture_seed(&f, 30), sent[RANKS] = {0}, empty = 0;
    memset(&arrived, 0, sizeof arrived);
    count_empty = 0;
    EXPECT_OK(tern_barrier(f.worker));
    int times = fixture_times(&f, shm_times);
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, f.size);
        size_t bytes = sizeof(stamp) + below(&random, 100);
        if (below(&random, 20) == 0)
            bytes = sizeof(stamp) + below(&random, most - sizeof(stamp) + 1);
        if (i == 0)
            bytes = most;
        compose(arguments, f.rank, sent[r]++, bytes);
        EXPECT_OK(tern_call(f.worker, to(r), &receive_function, arguments, bytes));
        memset(arguments, 0xdd, bytes);
        if (below(&random, 50) == 0 && ++empty)
            EXPECT_OK(tern_call(f.worker, to(r), &receive_nothing_function, NULL, 0));
        if (below(&random, 100) == 0)
            tern_progress(f.worker);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    uint64_t *all = calloc((size_t)f.size * RANKS, sizeof *all), sums[2] = {empty, count_empty};
    uint64_t *both = calloc((size_t)f.size * 2, sizeof *both), balance = 0;
    fixture_share(&f, sent, sizeof sent, all);
    fixture_share(&f, sums, sizeof sums, both);
    for (uint32_t r = 0; r < f.size; r++) {
        CU_ASSERT_EQUAL(arrived.next[r], all[r * RANKS + f.rank]);
        balance += both[r * 2] - both[r * 2 + 1];
    }
    CU_ASSERT_EQUAL(balance, 0);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.records_malformed, 0);
    CU_ASSERT_EQUAL(stats.calls_refused, 0);
    CU_ASSERT_EQUAL(stats.calls_sent, (uint64_t)times + empty);
    free(all);
    free(both);
    free(arguments);
    fixture_close(&f);
}

static tern_config with_rings(size_t ring_size) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = ring_size;
    return config;
}

static void order_over_large_rings(void) {
    tern_config config = with_rings((size_t)256 << 10);
    order_under(&config, 10000);
}

static void order_over_small_rings(void) {
    tern_config config = with_rings(4096);
    order_under(&config, 20000);
}

static void order_with_flushed_frames(void) {
    tern_config config = with_rings(16384);
    config.rma_commit = TERN_RMA_COMMIT_FLUSH;
    order_under(&config, 4000);
}

/* Rings that fall idle at once, and none that is polled always. */
static void order_over_idle_rings(void) {
    tern_config config = with_rings(8192);
    config.active_rings = 0;
    config.idle_polls = 1;
    order_under(&config, 10000);
}

/* One ring into each rank: the other pairs send by messages. */
static void order_without_ring_memory(void) {
    tern_config config = with_rings(8192);
    config.ring_memory = 8192;
    order_under(&config, 10000);
}

/* Single calls with silence between them, in which every ring is left to its doorbell. */
static void idle_rings_wake_up(void) {
    fixture f;
    tern_config config = with_rings(8192);
    config.active_rings = 0;
    config.idle_polls = 3;
    if (!fixture_open(&f, &config))
        return;
    memset(&arrived, 0, sizeof arrived);
    EXPECT_OK(tern_barrier(f.worker));
    unsigned char arguments[64];
    uint32_t next = (f.rank + 1) % f.size, previous = (f.rank + f.size - 1) % f.size;
    int rounds = fixture_times(&f, 300);
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 30; k++)
            tern_progress(f.worker);
        compose(arguments, f.rank, (uint64_t)i, sizeof arguments);
        EXPECT_OK(tern_call(f.worker, to(next), &receive_function, arguments, sizeof arguments));
        /* Not one comes late: the partner waits for it. */
        while (arrived.next[previous] <= (uint64_t)i) {
            tern_progress(f.worker);
            sched_yield();
        }
    }
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    if (fixture_all_direct(&f))
        CU_ASSERT(stats.rings_idled > 0 && stats.doorbells_rung > 0);
    fixture_close(&f);
}

/* If a worker has no more rings than TERN_ACTIVE_RINGS, it looks at idle ones in every round,
 * wherever they come from, and finds a record at once. */
static void few_idle_rings_are_looked_at(void) {
    enum { TIMES = 32, IDLE = 30, AT_ONCE = 16 /* rounds */ };
    fixture f;
    tern_config config = with_rings(8192);
    config.idle_polls = 3;
    config.mpi_interval = 1;
    if (!fixture_open(&f, &config))
        return;
    memset(&arrived, 0, sizeof arrived);
    unsigned char arguments[64];
    const uint32_t next = (f.rank + 1) % f.size, previous = (f.rank + f.size - 1) % f.size;
    int late = 0;
    for (uint64_t i = 0; i <= TIMES; i++) {
        const bool open = i > 0; /* rings, which takes their targets' help */
        EXPECT_OK(tern_barrier(f.worker));
        if (open)
            meet_without_progress(); /* no record of the barrier comes behind this */
        for (uint64_t k = 0; k < IDLE + i; k++)
            tern_progress(f.worker);
        if (open)
            meet_without_progress();
        compose(arguments, f.rank, i, sizeof arguments);
        EXPECT_OK(tern_call(f.worker, to(next), &receive_function, arguments, sizeof arguments));
        if (open)
            meet_without_progress();
        int rounds = 0;
        for (; arrived.next[previous] <= i; rounds++)
            tern_progress(f.worker);
        late += open && rounds > AT_ONCE;
    }
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    CU_ASSERT(late < TIMES / 2); /* a rank that has lost its core may be */
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* A target that makes no progress: in the end tern_call_try says AGAIN, and what it took arrives.
 */
static void full_ring(void) {
    fixture f;
    if (!open_with_rings(&f, 4096))
        return;
    memset(&arrived, 0, sizeof arrived);
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t accepted = 0, *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size;
    unsigned char arguments[100];
    for (int wave = 0; wave < 5; wave++) {
        /* Even ranks send while odd ones sleep, then the other way round. */
        tern_status status = TERN_OK;
        meet_without_progress();
        if (f.rank % 2 == (uint32_t)wave % 2) {
            for (int i = 0; i < 1000 && status == TERN_OK; i++) {
                compose(arguments, f.rank, accepted, sizeof arguments);
                status = tern_call_try(f.worker, to(next), &receive_function, arguments,
                                       sizeof arguments);
                accepted += status == TERN_OK;
            }
            CU_ASSERT_EQUAL(status, TERN_ERR_AGAIN);
            CU_ASSERT(strlen(tern_error_detail()) > 10);
        }
        meet_without_progress();
        if (wave % 2 == 1)
            EXPECT_OK(tern_quiesce(f.worker));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_share(&f, &accepted, sizeof accepted, all);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    CU_ASSERT_EQUAL(arrived.next[(f.rank + f.size - 1) % f.size],
                    all[(f.rank + f.size - 1) % f.size]);
    free(all);
    fixture_close(&f);
}

/* Both directions at once through rings that are always full: nobody waits for ever. */
static void floods(void) {
    fixture f;
    if (!open_with_rings(&f, 4096))
        return;
    memset(&arrived, 0, sizeof arrived);
    EXPECT_OK(tern_barrier(f.worker));
    unsigned char arguments[1500];
    uint64_t each = (uint64_t)fixture_times(&f, 3000);
    for (uint64_t i = 0; i < each; i++)
        for (uint32_t r = 0; r < f.size; r++)
            EXPECT_OK(tern_call(f.worker, to(r), &receive_function, arguments,
                                compose(arguments, f.rank, i, 16 + (i * 97 + r) % 1484)));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    for (uint32_t r = 0; r < f.size; r++)
        CU_ASSERT_EQUAL(arrived.next[r], each);
    fixture_close(&f);
}

/* A handler that answers by a call of its own, and stays in its ring while there is no room. */
static uint64_t balls[2];

static tern_status catch_ball(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    balls[1]++;
    return TERN_OK;
}
TERN_FUNCTION(catch_ball)

static tern_status throw_back(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_status status =
        tern_call(call->worker, call->origin, &catch_ball_function, arguments, bytes);
    balls[0] += status == TERN_OK;
    return status;
}
TERN_FUNCTION(throw_back)

/* In bursts that fit the rings, or all at once through rings that never have room. */
static void call_back(size_t ring_size, uint64_t burst, uint64_t each) {
    fixture f;
    if (!open_with_rings(&f, ring_size))
        return;
    balls[0] = balls[1] = 0;
    EXPECT_OK(tern_barrier(f.worker));
    char arguments[300] = {0};
    for (uint64_t i = 0; i < each; i++) {
        for (uint32_t r = 0; r < f.size; r++)
            EXPECT_OK(tern_call(f.worker, to(r), &throw_back_function, arguments,
                                (i * 13 + r) % sizeof arguments));
        if (i % burst == burst - 1)
            EXPECT_OK(tern_quiesce(f.worker));
    }
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(balls[0], each * f.size);
    CU_ASSERT_EQUAL(balls[1], each * f.size);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT_EQUAL(stats.calls_refused, 0);
    CU_ASSERT_EQUAL(stats.calls_executed, 2 * each * f.size);
    fixture_close(&f);
}

static void handlers_that_call_back(void) { call_back((size_t)64 << 10, 20, 100); }

static void handlers_that_flood_back(void) { call_back(4096, UINT64_MAX, 300); }

/* Returns AGAIN as often as the arguments say, for a start. */
static struct { uint64_t left, again, done; } stubborn_state;

static tern_status stubborn(tern_call_info *call, const void *arguments, size_t bytes) {
    uint64_t times;
    (void)bytes;
    memcpy(&times, arguments, 8);
    if (stubborn_state.left == 0)
        stubborn_state.left = times + 1;
    if (--stubborn_state.left > 0) {
        stubborn_state.again++;
        return TERN_ERR_AGAIN;
    }
    stubborn_state.done++;
    memcpy(call->result, &times, 8);
    call->result_bytes = 8;
    return TERN_OK;
}
TERN_FUNCTION(stubborn)

/* A call that is left in place holds its caller's later ones back, and runs in the end. */
static void again_keeps_order(void) {
    fixture f;
    if (!open_with_rings(&f, 4096))
        return;
    memset(&arrived, 0, sizeof arrived);
    memset(&stubborn_state, 0, sizeof stubborn_state);
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t expected = 0, number = 0, result = 0;
    size_t got = 0;
    unsigned char arguments[40];
    for (uint64_t times = 0; times < 12; times++) {
        /* To oneself: progress is counted. */
        uint64_t before = arrived.next[f.rank];
        EXPECT_OK(tern_call(f.worker, to(f.rank), &stubborn_function, &times, 8));
        compose(arguments, f.rank, number++, sizeof arguments);
        EXPECT_OK(tern_call(f.worker, to(f.rank), &receive_function, arguments, sizeof arguments));
        while (stubborn_state.done < times + 1) {
            CU_ASSERT_EQUAL(arrived.next[f.rank], before);
            tern_progress(f.worker);
        }
        expected += times;
        while (arrived.next[f.rank] == before)
            tern_progress(f.worker);
        CU_ASSERT_EQUAL(stubborn_state.again, expected);
    }
    EXPECT_OK(tern_barrier(f.worker));
    for (uint64_t times = 0; times < 5; times++) {
        /* One at a time, for the handler's state is one. */
        for (uint32_t turn = 0; turn < f.size; turn++) {
            if (turn == f.rank) {
                result = 0;
                EXPECT_OK(tern_call_return(f.worker, to((f.rank + 1) % f.size), &stubborn_function,
                                           &times, 8, &result, 8, &got));
                CU_ASSERT_EQUAL(result, times);
                CU_ASSERT_EQUAL(got, 8);
            }
            EXPECT_OK(tern_barrier(f.worker));
        }
    }
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    fixture_close(&f);
}

/* Destroying a context finishes what is under way. */
static void destroy_drains(void) {
    for (int round = 0; round < 5; round++) {
        fixture f;
        if (!open_with_rings(&f, 4096))
            return;
        balls[0] = balls[1] = 0;
        EXPECT_OK(tern_barrier(f.worker));
        uint64_t ranks = f.size;
        for (int i = 0; i < 20; i++)
            for (uint32_t r = 0; r < f.size; r++)
                EXPECT_OK(tern_call(f.worker, to(r), &throw_back_function, NULL, 0));
        fixture_close(&f);
        CU_ASSERT_EQUAL(balls[0], 20 * ranks);
        CU_ASSERT_EQUAL(balls[1], 20 * ranks);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"order_over_large_rings", order_over_large_rings},
        {"order_over_small_rings", order_over_small_rings},
        {"order_with_flushed_frames", order_with_flushed_frames},
        {"order_over_idle_rings", order_over_idle_rings},
        {"order_without_ring_memory", order_without_ring_memory},
        {"idle_rings_wake_up", idle_rings_wake_up},
        {"few_idle_rings_are_looked_at", few_idle_rings_are_looked_at},
        {"full_ring", full_ring},
        {"floods", floods},
        {"handlers_that_call_back", handlers_that_call_back},
        {"handlers_that_flood_back", handlers_that_flood_back},
        {"again_keeps_order", again_keeps_order},
        {"destroy_drains", destroy_drains},
    };
    return tern_test_main(argc, argv, "call_order", tests, sizeof tests / sizeof tests[0]);
}
