// tern-test: transports crowd

/* When calls become visible and what a full ring does, under every policy. */

#include "call_tools.h"

#include <stdatomic.h>
#include <stdlib.h>

static tern_config small_rings(size_t overflow) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 2;
    config.overflow_memory = overflow;
    return config;
}

static bool open_forgetful(fixture *f, const tern_config *config) {
    if (!fixture_open(f, config))
        return false;
    memset(&arrived, 0, sizeof arrived);
    return EXPECT_OK(tern_barrier(f->worker));
}

/* One of the three ways to call; after a refusal because of room it makes progress. */
static tern_status call_somehow(fixture *f, uint64_t *random, uint32_t r, const void *arguments,
                                size_t bytes) {
    uint64_t how = below(random, 3);
    tern_status status;
    do {
        status = how == 0 ? tern_call(f->worker, to(r), &receive_function, arguments, bytes)
                 : how == 1
                     ? tern_call_try(f->worker, to(r), &receive_function, arguments, bytes)
                     : tern_call_queue(f->worker, to(r), &receive_function, arguments, bytes);
        if (status == TERN_ERR_AGAIN)
            tern_progress(f->worker);
    } while (status == TERN_ERR_AGAIN);
    return status;
}

/* All to all: any size, any of the calls, policies that change on the way; in order, once each. */
static void any_policy(size_t overflow) {
    fixture f;
    tern_config config = small_rings(overflow);
    if (!open_forgetful(&f, &config))
        return;
    unsigned char arguments[1500];
    uint64_t random = fixture_seed(&f, 60), sent[RANKS] = {0};
    int times = fixture_times(&f, 10000);
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, f.size);
        size_t most = below(&random, 10) == 0 ? sizeof arguments : 100;
        size_t bytes = sizeof(stamp) + below(&random, most - sizeof(stamp) + 1);
        compose(arguments, f.rank, sent[r]++, bytes);
        EXPECT(TERN_OK, call_somehow(&f, &random, r, arguments, bytes));
        if (below(&random, 40) == 0)
            EXPECT_OK(tern_call_policy(f.worker, to((uint32_t)below(&random, f.size)),
                                       (tern_publish)below(&random, 3),
                                       below(&random, 2) * (8 + below(&random, 6000))));
        if (below(&random, 60) == 0) {
            tern_status status = tern_call_flush(f.worker, to(r));
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN);
        }
        if (below(&random, 100) == 0)
            tern_progress(f.worker);
    }
    EXPECT_OK(tern_quiesce(f.worker));
    expect_all_arrived(&f, sent);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT(stats.overflow_most <= overflow);
    CU_ASSERT_EQUAL(stats.calls_sent, (uint64_t)times);
    CU_ASSERT_EQUAL(stats.records_malformed, 0);
    EXPECT_OK(tern_call_flush_all(f.worker));
    fixture_close(&f);
}

static void any_policy_with_room(void) { any_policy((size_t)1 << 20); }

static void any_policy_without_room(void) { any_policy(2000); }

static void nothing_to_queue_in(void) { any_policy(0); }

/* Gathered calls are not there before they are flushed, or are enough. */
static void gathered(void) {
    fixture f;
    tern_config config = small_rings((size_t)1 << 20);
    config.publish = TERN_PUBLISH_BATCHED;
    config.publish_bytes = 512;
    if (!open_forgetful(&f, &config))
        return;
    unsigned char arguments[56]; /* eight records are 512 bytes */
    bool sends = f.rank % 2 == 0 && f.rank + 1 < f.size, receives = f.rank % 2 == 1;
    if (sends) /* so that its ring is there */
        EXPECT_OK(tern_call_return(f.worker, to(f.rank + 1), &receive_nothing_function, NULL, 0,
                                   NULL, 0, NULL));
    EXPECT_OK(tern_quiesce(f.worker));
    for (uint64_t number = 0; number < 40; number++) {
        if (sends)
            EXPECT_OK(tern_call(f.worker, to(f.rank + 1), &receive_function, arguments,
                                compose(arguments, f.rank, number, sizeof arguments)));
        meet_without_progress();
        bool flushed = number % 20 == 19, due = (number % 20 + 1) % 8 == 0;
        if (sends && flushed)
            EXPECT_OK(tern_call_flush(f.worker, to(f.rank + 1)));
        meet_without_progress();
        uint64_t *next = &arrived.next[receives ? f.rank - 1 : 0];
        uint64_t wanted = number / 20 * 20 + (flushed ? 20 : (number % 20 + 1) / 8 * 8);
        for (int i = 0; receives && i < 30; i++)
            tern_progress(f.worker);
        while (receives && (flushed || due) && *next < wanted)
            tern_progress(f.worker);
        if (receives)
            CU_ASSERT_EQUAL(*next, wanted);
        meet_without_progress();
        if (flushed)
            EXPECT_OK(tern_quiesce(f.worker));
    }
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* However much is to be gathered: progress, a barrier and a quiesce leave nothing behind. */
static void waits_publish(void) {
    fixture f;
    tern_config config = small_rings((size_t)1 << 20);
    if (!open_forgetful(&f, &config))
        return;
    unsigned char arguments[40];
    uint32_t next = (f.rank + 1) % f.size, previous = (f.rank + f.size - 1) % f.size;
    EXPECT_OK(tern_call_policy(f.worker, to(next), TERN_PUBLISH_BATCHED, (size_t)1 << 20));
    int rounds = fixture_times(&f, 400);
    for (uint64_t i = 0; i < (uint64_t)rounds; i++) {
        EXPECT_OK(tern_call(f.worker, to(next), &receive_function, arguments,
                            compose(arguments, f.rank, i, sizeof arguments)));
        if (i % 3 == 0)
            EXPECT_OK(tern_barrier(f.worker));
        if (i % 3 == 1)
            EXPECT_OK(tern_quiesce(f.worker));
        while (arrived.next[previous] <= i) {
            tern_progress(f.worker);
            sched_yield();
        }
    }
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_close(&f);
}

/* A target without progress: each caller gets what it has asked for, and memory its limit. */
static void full_ring(void) {
    enum { LIMIT = 20000 };
    fixture f;
    tern_config config = small_rings(LIMIT);
    if (!open_forgetful(&f, &config))
        return;
    uint64_t accepted = 0, *all = calloc(f.size, sizeof *all);
    uint32_t next = (f.rank + 1) % f.size, previous = (f.rank + f.size - 1) % f.size;
    unsigned char arguments[100];
    for (uint32_t wave = 0; wave < 6; wave++) {
        meet_without_progress();
        if (f.rank % 2 == wave % 2) {
            bool spill = wave >= 4;
            EXPECT_OK(tern_call_policy(f.worker, to(next),
                                       spill ? TERN_PUBLISH_SPILL : TERN_PUBLISH_WRITE, 0));
            tern_status status = TERN_OK;
            uint64_t before = accepted;
            for (int i = 0; i < 2000 && status == TERN_OK; i++) {
                compose(arguments, f.rank, accepted, sizeof arguments);
                status = spill ? tern_call_try(f.worker, to(next), &receive_function, arguments,
                                               sizeof arguments)
                               : tern_call_queue(f.worker, to(next), &receive_function, arguments,
                                                 sizeof arguments);
                accepted += status == TERN_OK;
            }
            EXPECT_DETAIL("TERN_OVERFLOW_MEMORY");
            CU_ASSERT_EQUAL(status, TERN_ERR_AGAIN);
            CU_ASSERT(accepted - before > LIMIT / 400);
            EXPECT(TERN_ERR_AGAIN, tern_call_flush(f.worker, to(next)));
            EXPECT(TERN_ERR_AGAIN, tern_call_flush_all(f.worker));
            tern_stats stats;
            tern_stats_get(f.worker, &stats);
            CU_ASSERT(stats.overflow_most <= LIMIT && stats.overflow_most > LIMIT / 4);
        }
        meet_without_progress();
        if (wave % 2 == 1)
            EXPECT_OK(tern_quiesce(f.worker));
    }
    fixture_share(&f, &accepted, sizeof accepted, all);
    CU_ASSERT_EQUAL(arrived.wrong, 0);
    CU_ASSERT_EQUAL(arrived.next[previous], all[previous]);
    free(all);
    fixture_close(&f);
}

/* Rings full in both directions, with handlers that call back. */
static uint64_t thrown, caught;

static tern_status catch_one(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    (void)bytes;
    caught++;
    return TERN_OK;
}
TERN_FUNCTION(catch_one)

static tern_status throw_one(tern_call_info *call, const void *arguments, size_t bytes) {
    tern_status status =
        tern_call(call->worker, call->origin, &catch_one_function, arguments, bytes);
    thrown += status == TERN_OK;
    return status;
}
TERN_FUNCTION(throw_one)

static void flood_back(tern_publish policy) {
    /* For each pair what its ring holds, twice over: handlers have half of it. */
    enum { LIMIT = 4 * 2 * 2 * 8192 };
    fixture f;
    tern_config config = small_rings(LIMIT);
    config.publish = policy;
    if (!fixture_open(&f, &config))
        return;
    thrown = caught = 0;
    EXPECT_OK(tern_barrier(f.worker));
    char arguments[700] = {0};
    uint64_t each = (uint64_t)fixture_times(&f, 1000);
    for (uint64_t i = 0; i < each; i++)
        for (uint32_t r = 0; r < f.size; r++)
            EXPECT_OK(tern_call(f.worker, to(r), &throw_one_function, arguments,
                                (i * 13 + r) % sizeof arguments));
    EXPECT_OK(tern_quiesce(f.worker));
    CU_ASSERT_EQUAL(thrown, each * f.size);
    CU_ASSERT_EQUAL(caught, each * f.size);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT(stats.overflow_most <= LIMIT);
    CU_ASSERT_EQUAL(stats.calls_executed, 2 * each * f.size);
    fixture_close(&f);
}

static void flood_back_at_once(void) { flood_back(TERN_PUBLISH_WRITE); }

static void flood_back_gathered(void) { flood_back(TERN_PUBLISH_BATCHED); }

static void flood_back_kept(void) { flood_back(TERN_PUBLISH_SPILL); }

/* Calls that call on, all gathered: what a handler leaves behind is part of what is under way. */
static tern_status pass_on(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(pass_on)

static tern_status pass_on(tern_call_info *call, const void *arguments, size_t bytes) {
    uint32_t left[2];
    memcpy(left, arguments, sizeof left);
    caught++;
    if (left[0]-- == 0)
        return TERN_OK;
    return tern_call(call->worker, to((call->origin.rank + left[0]) % left[1]), &pass_on_function,
                     left, bytes);
}

static void gathered_recursion(void) {
    fixture f;
    tern_config config = small_rings((size_t)1 << 20);
    config.publish = TERN_PUBLISH_BATCHED;
    config.publish_bytes = (size_t)1 << 20;
    if (!fixture_open(&f, &config))
        return;
    caught = 0;
    EXPECT_OK(tern_barrier(f.worker));
    uint64_t made = 0, sums[2], *all = calloc((size_t)f.size * 2, sizeof *all);
    uint64_t random = fixture_seed(&f, 61);
    int rounds = fixture_times(&f, 100);
    for (int i = 0; i < rounds; i++) {
        for (uint64_t k = below(&random, 3); k > 0; k--) {
            uint32_t left[2] = {(uint32_t)below(&random, 20), f.size};
            made += left[0] + 1;
            EXPECT_OK(tern_call(f.worker, to((uint32_t)below(&random, f.size)), &pass_on_function,
                                left, sizeof left));
        }
        EXPECT_OK(tern_quiesce(f.worker));
        sums[0] = made;
        sums[1] = caught;
        fixture_share(&f, sums, sizeof sums, all);
        uint64_t balance = 0;
        for (uint32_t r = 0; r < f.size; r++)
            balance += all[2 * r] - all[2 * r + 1];
        CU_ASSERT_EQUAL(balance, 0);
    }
    free(all);
    fixture_close(&f);
}

static void refusals(void) {
    fixture f;
    if (!fixture_open(&f, NULL))
        return;
    tern_worker_id beyond = {f.size, 0}, none = {0, 1};
    EXPECT(TERN_ERR_ARGUMENT, tern_call_policy(NULL, to(0), TERN_PUBLISH_WRITE, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_policy(f.worker, beyond, TERN_PUBLISH_WRITE, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_policy(f.worker, none, TERN_PUBLISH_WRITE, 0));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_policy(f.worker, to(0), (tern_publish)3, 0));
    EXPECT_DETAIL("policy is 3");
    EXPECT(TERN_ERR_ARGUMENT, tern_call_flush(NULL, to(0)));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_flush(f.worker, beyond));
    EXPECT(TERN_ERR_ARGUMENT, tern_call_flush_all(NULL));
    EXPECT_OK(tern_call_flush(f.worker, to(0))); /* no ring, no calls */
    EXPECT(TERN_ERR_ARGUMENT, tern_call_queue(f.worker, beyond, &receive_function, NULL, 0));
    EXPECT(TERN_ERR_RANGE,
           tern_call_queue(f.worker, to(0), &receive_function, "", (size_t)TERN_CHUNK_MAX + 1));
    fixture_close(&f);
}

static _Atomic uint32_t heard;

static tern_status hear(tern_call_info *call, const void *arguments, size_t bytes) {
    (void)call;
    (void)arguments;
    atomic_fetch_add(&heard, bytes == 0);
    return TERN_OK;
}
TERN_FUNCTION(hear)

/* Calls are queued while their remote rings are being set up, and memory does not suffice for all
 * of these: a caller that waits for a lost call is told, and lost calls count as over. */
static void lost_for_want_of_a_ring(void) {
    enum { WORKERS = 4 };
    fixture f;
    tern_config config = small_rings((size_t)1 << 20);
    config.workers = WORKERS;
    config.ring_memory = 2 * config.ring_size;
    config.ring_growth = 1;
    if (!fixture_open(&f, &config))
        return;
    tern_synchronizer all;
    atomic_store(&heard, 0);
    EXPECT_OK(tern_synchronizer_create(f.worker, &all));
    EXPECT_OK(tern_barrier(f.worker));
    uint32_t taken = 0;
    tern_log_set_level(TERN_LOG_NONE);
    tern_call_options options = {.full = TERN_FULL_QUEUE, .synchronizer = &all};
    for (uint32_t i = 0; i < WORKERS; i++) {
        tern_worker_id target = {(f.rank + 1) % f.size, i};
        tern_status status = tern_call_with(f.worker, target, &hear_function, NULL, 0, &options);
        CU_ASSERT(status == TERN_OK || status == TERN_ERR_MEMORY);
        taken += status == TERN_OK;
    }
    EXPECT_OK(tern_quiesce(f.worker)); /* progress for all workers */
    tern_log_set_level(TERN_LOG_WARN);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    uint64_t sums[] = {taken, atomic_load(&heard), stats.calls_refused};
    tern_mpi_lock();
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_UINT64_T, MPI_SUM, f.comm);
    tern_mpi_unlock();
    CU_ASSERT_EQUAL(sums[0], sums[1] + sums[2]);
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &all));
    fixture_close(&f);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"refusals", refusals},
        {"any_policy_with_room", any_policy_with_room},
        {"any_policy_without_room", any_policy_without_room},
        {"nothing_to_queue_in", nothing_to_queue_in},
        {"gathered", gathered},
        {"waits_publish", waits_publish},
        {"full_ring", full_ring},
        {"flood_back_at_once", flood_back_at_once},
        {"flood_back_gathered", flood_back_gathered},
        {"flood_back_kept", flood_back_kept},
        {"gathered_recursion", gathered_recursion},
        {"lost_for_want_of_a_ring", lost_for_want_of_a_ring},
    };
    return tern_test_main(argc, argv, "call_policies", tests, sizeof tests / sizeof tests[0]);
}
