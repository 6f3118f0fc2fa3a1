// tern-test: transports
/*
 * Calls that wait for room are moved on by service threads while their caller computes, and by the
 * thread that comes first while it does not; in order, once each.
 */

#include <stdatomic.h>
#include <unistd.h>

#include "call_tools.h"

static fixture f;

/* Of the calls that this process was sent, by origin; handlers of one origin follow each other. */
static struct {
    _Atomic uint64_t next[RANKS];
    _Atomic uint64_t wrong;
    atomic_bool shut;
} taken;

static tern_status take(tern_call_info *call, const void *arguments, size_t bytes) {
    const unsigned char *at = arguments;
    uint32_t origin = call->origin.rank;
    stamp s;
    if (atomic_load(&taken.shut))
        return TERN_ERR_AGAIN;
    memcpy(&s, arguments, sizeof s);
    uint64_t wrong = bytes != s.bytes || s.number != atomic_load(&taken.next[origin]);
    for (size_t i = sizeof s; i < bytes; i++)
        wrong += at[i] != content(origin, &s, i);
    atomic_fetch_add(&taken.wrong, wrong);
    atomic_fetch_add(&taken.next[origin], 1);
    return TERN_OK;
}
TERN_FUNCTION(take)

static bool open_with(size_t overflow, size_t service_threads, bool shut) {
    tern_config config;
    EXPECT_OK(tern_config_init(&config));
    config.segment_size = (size_t)1 << 20;
    config.ring_size = 4096;
    config.ring_growth = 2;
    config.overflow_memory = overflow;
    config.service_threads = service_threads;
    memset(&taken, 0, sizeof taken);
    atomic_store(&taken.shut, shut);
    return fixture_open(&f, &config) && EXPECT_OK(tern_barrier(f.worker));
}

static void expect_taken(uint32_t origin, uint64_t calls) {
    CU_ASSERT_EQUAL(atomic_load(&taken.next[origin]), calls);
    CU_ASSERT_EQUAL(atomic_load(&taken.wrong), 0);
}

/* Every rank leaves the next process more calls than their ring holds, and makes no progress any
 * more until all of its own have arrived. */
static void moved_while_computing(void) {
    if (!open_with((size_t)1 << 20, 1, true))
        return;
    enum { CALLS = 300, BYTES = 200 };
    uint32_t next = (f.rank + 1) % f.size, last = (f.rank + f.size - 1) % f.size;
    unsigned char arguments[BYTES];
    for (uint64_t i = 0; i < CALLS; i++)
        EXPECT_OK(tern_call_queue(f.worker, tern_context_service(f.context, next), &take_function,
                                  arguments, compose(arguments, f.rank, i, BYTES)));
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT(stats.calls_overflowed > 0);
    meet_without_progress();
    atomic_store(&taken.shut, false);
    while (atomic_load(&taken.next[last]) < CALLS)
        usleep(100);
    EXPECT_OK(tern_quiesce(f.worker));
    expect_taken(last, CALLS);
    fixture_close(&f);
}

static tern_status call_somehow(uint64_t *random, tern_worker_id target, const void *arguments,
                                size_t bytes) {
    switch (below(random, 4)) {
    case 0:
        return tern_call(f.worker, target, &take_function, arguments, bytes);
    case 1:
        return tern_call_try(f.worker, target, &take_function, arguments, bytes);
    default:
        return tern_call_queue(f.worker, target, &take_function, arguments, bytes);
    }
}

/* Every kind of call, policies that change, other records of the same pairs in between. */
static void any_call(void) {
    if (!open_with(40000, 2, false))
        return;
    tern_synchronizer sent;
    EXPECT_OK(tern_synchronizer_create(f.worker, &sent));
    tern_call_options hear = {
        .full = TERN_FULL_QUEUE, .synchronizer = &sent, .notify = TERN_ON_SENT};
    unsigned char arguments[1500];
    uint64_t random = fixture_seed(&f, 80), number[RANKS] = {0}, all[RANKS * RANKS];
    int times = fixture_times(&f, 10000);
    for (int i = 0; i < times; i++) {
        uint32_t r = (uint32_t)below(&random, f.size);
        tern_worker_id target = tern_context_service(f.context, r);
        size_t most = below(&random, 10) == 0 ? sizeof arguments : 100;
        size_t bytes = sizeof(stamp) + below(&random, most - sizeof(stamp) + 1);
        compose(arguments, f.rank, number[r]++, bytes);
        bool hears = below(&random, 8) == 0;
        tern_status status;
        while ((status = hears ? tern_call_with(f.worker, target, &take_function, arguments, bytes,
                                                &hear)
                               : call_somehow(&random, target, arguments, bytes)) == TERN_ERR_AGAIN)
            if (below(&random, 2) == 0)
                tern_progress(f.worker);
        EXPECT_OK(status);
        if (below(&random, 40) == 0)
            EXPECT_OK(tern_call_policy(f.worker, target, (tern_publish)below(&random, 3),
                                       below(&random, 2) * (8 + below(&random, 6000))));
        if (below(&random, 200) == 0) {
            tern_ptr memory;
            tern_status got =
                tern_alloc_on(f.worker, r, TERN_NUMA_ANY, 64, 0, TERN_DOMAIN_NODE, &memory);
            if (EXPECT_OK(got))
                EXPECT_OK(tern_free(f.worker, memory));
        }
        if (below(&random, 60) == 0) {
            status = tern_call_flush(f.worker, target);
            CU_ASSERT(status == TERN_OK || status == TERN_ERR_AGAIN);
        }
    }
    EXPECT_OK(tern_synchronizer_wait(f.worker, sent));
    EXPECT_OK(tern_quiesce(f.worker));
    EXPECT_OK(tern_synchronizer_destroy(f.worker, &sent));
    fixture_share(&f, number, sizeof number, all);
    for (uint32_t r = 0; r < f.size; r++)
        expect_taken(r, all[r * RANKS + f.rank]);
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT(stats.overflow_most <= 40000);
    fixture_close(&f);
}

/* A target that takes nothing: the queue fills to its limit and no further; then all arrives. */
static void limited(void) {
    enum { OVERFLOW = 20000, BYTES = 100 };
    if (!open_with(OVERFLOW, 1, true))
        return;
    uint32_t next = (f.rank + 1) % f.size, last = (f.rank + f.size - 1) % f.size;
    tern_worker_id target = tern_context_service(f.context, next);
    unsigned char arguments[BYTES];
    uint64_t calls = 0, theirs[RANKS];
    tern_status status = TERN_OK;
    /* Refused for long enough that no service thread finds room. */
    for (int refused = 0; refused < 100 && (status == TERN_OK || status == TERN_ERR_AGAIN);) {
        status = tern_call_queue(f.worker, target, &take_function, arguments,
                                 compose(arguments, f.rank, calls, BYTES));
        calls += status == TERN_OK;
        refused = status == TERN_ERR_AGAIN ? refused + 1 : 0;
        if (status == TERN_ERR_AGAIN)
            usleep(100);
    }
    EXPECT(TERN_ERR_AGAIN, status);
    EXPECT_DETAIL("TERN_OVERFLOW_MEMORY");
    tern_stats stats;
    tern_stats_get(f.worker, &stats);
    CU_ASSERT(stats.overflow_most <= OVERFLOW / 2);
    CU_ASSERT(stats.overflow_most > OVERFLOW / 2 - 2 * BYTES);
    meet_without_progress();
    atomic_store(&taken.shut, false);
    EXPECT_OK(tern_quiesce(f.worker));
    fixture_share(&f, &calls, sizeof calls, theirs);
    expect_taken(last, theirs[last]);
    fixture_close(&f);
}

/* Calls that wait when their context is destroyed are run. */
static void destroyed_at_once(void) {
    if (!open_with((size_t)1 << 20, 1, false))
        return;
    enum { CALLS = 400, BYTES = 100 };
    uint32_t last = (f.rank + f.size - 1) % f.size;
    tern_worker_id target = tern_context_service(f.context, (f.rank + 1) % f.size);
    unsigned char arguments[BYTES];
    for (uint64_t i = 0; i < CALLS; i++)
        EXPECT_OK(tern_call_queue(f.worker, target, &take_function, arguments,
                                  compose(arguments, f.rank, i, BYTES)));
    fixture_close(&f);
    expect_taken(last, CALLS);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"moved while computing", moved_while_computing},
        {"any call", any_call},
        {"limited", limited},
        {"destroyed at once", destroyed_at_once},
    };
    return tern_test_main(argc, argv, "overflow_threads", tests, sizeof tests / sizeof tests[0]);
}
