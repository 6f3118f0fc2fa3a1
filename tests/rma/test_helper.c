// tern-test: unit
/* The helper (rma/network/helper.h) beside a network that this file plays: an eventfd says that it
 * has work, and progress takes the work. */

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/process.h"
#include "harness.h"
#include "rma/network/helper.h"

enum { TIMES = 200, NAP_US = 100 };
#define IDLE_NS 500000000u
#define LIMIT_NS 20000000000u /* of what has to happen */

static struct {
    tern_network network; /* first */
    int descriptor;
    _Atomic uint64_t taken; /* pieces of work that progress has taken */
    _Atomic uint64_t polls; /* calls of progress by the helper */
    atomic_bool restless;   /* there is always more to do */
} played;

static _Thread_local bool is_worker;

/* Workers leave the work to the helper, so that it could be tempted. */
static void play_progress(tern_network *network) {
    uint64_t work = 0;
    CU_ASSERT(pthread_mutex_trylock(&network->lock) != 0); /* the lock is held */
    if (is_worker)
        return;
    if (read(played.descriptor, &work, sizeof work) == sizeof work)
        atomic_fetch_add(&played.taken, work);
    atomic_fetch_add(&played.polls, 1);
}

static bool play_may_sleep(tern_network *network) {
    CU_ASSERT(pthread_mutex_trylock(&network->lock) != 0);
    return !atomic_load(&played.restless);
}

static const tern_network_ops play_ops = {.progress = play_progress};

static tern_helper *set_up(void) {
    memset(&played, 0, sizeof played);
    pthread_mutex_init(&played.network.lock, NULL);
    played.network.ops = &play_ops;
    played.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CU_ASSERT_FATAL(played.descriptor >= 0);
    tern_helper *helper = tern_helper_start(&played.network, played.descriptor, play_may_sleep);
    CU_ASSERT_FATAL(helper != NULL);
    return helper;
}

static void tear_down(tern_helper *helper) {
    tern_helper_stop(helper);
    close(played.descriptor);
    pthread_mutex_destroy(&played.network.lock);
}

static void add_work(void) {
    const uint64_t one = 1;
    CU_ASSERT_EQUAL(write(played.descriptor, &one, sizeof one), (ssize_t)sizeof one);
}

/* Waits until the word has this value at least, or until that time. */
static bool await_until(uint64_t end, const _Atomic uint64_t *word, uint64_t value) {
    while (atomic_load(word) < value && tern_now() < end)
        usleep(NAP_US);
    return atomic_load(word) >= value;
}

static bool await(const _Atomic uint64_t *word, uint64_t value) {
    return await_until(tern_now() + LIMIT_NS, word, value);
}

static void sleep_idly(void) {
    const uint64_t end = tern_now() + IDLE_NS;
    while (tern_now() < end)
        usleep(10000);
}

/* Nobody polls: what comes is taken, each time, since the helper wakes up for it. By its limits
 * alone it would take twice the time that it has for all. */
static void it_takes_what_comes(void) {
    tern_helper *helper = set_up();
    const uint64_t end = tern_now() + LIMIT_NS;
    bool taken = true;
    for (uint64_t i = 1; i <= TIMES && taken; i++) {
        add_work();
        taken = await_until(end, &played.taken, i);
    }
    CU_ASSERT(taken);
    tear_down(helper);
}

/* In an idle process it uses at most 1 % of a core. It wakes up a few times a second. */
static void it_costs_little(void) {
    tern_helper *helper = set_up();
    sleep_idly();
    CU_ASSERT(tern_helper_processor_ns(helper) <= IDLE_NS / 100);
    CU_ASSERT(tern_helper_turns(helper) <= 50);
    tear_down(helper);
}

/* Nor does a network that always has more to do keep a core busy. */
static void a_restless_network(void) {
    tern_helper *helper = set_up();
    atomic_store(&played.restless, true);
    add_work();
    CU_ASSERT(await(&played.polls, 20));
    const uint64_t turns = tern_helper_turns(helper);
    sleep_idly();
    CU_ASSERT(tern_helper_turns(helper) - turns <= 1000);
    atomic_store(&played.restless, false);
    add_work();
    CU_ASSERT(await(&played.taken, 2));
    tear_down(helper);
}

/* While a worker polls, the helper looks at the counter and no more, whatever comes. After that it
 * takes what comes. This thread is the worker. A step counts if it moved the counter less than a
 * millisecond after the helper began to rest, so that the helper's next turn had to see that. */
static void it_leaves_the_network_to_workers(void) {
    enum { STEPS = 50, REST_NS = 900000 };
    tern_helper *helper = set_up();
    const uint64_t end = tern_now() + LIMIT_NS;
    uint64_t works = 0, before = 0; /* a time before the helper's last turn */
    int steps = 0, wrong = 0;
    bool watched = false; /* that turn had to see a new counter */
    is_worker = true;
    while (steps < STEPS && tern_now() < end) {
        add_work();
        works++;
        const uint64_t turns = tern_helper_turns(helper), polls = atomic_load(&played.polls);
        tern_network_progress(&played.network);
        bool in_time = tern_now() - before < REST_NS;
        uint64_t now = tern_now();
        while (tern_helper_turns(helper) == turns && now < end) {
            before = now;
            usleep(NAP_US);
            now = tern_now();
        }
        const bool polled = atomic_load(&played.polls) != polls;
        in_time = in_time && tern_helper_turns(helper) == turns + 1;
        if (watched && in_time) {
            steps++;
            wrong += polled;
        }
        watched = in_time;
    }
    is_worker = false;
    CU_ASSERT_EQUAL(steps, STEPS);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(await(&played.taken, works));
    tear_down(helper);
}

/* Another thread holds the lock: the helper makes no progress meanwhile, and does not wait. */
static void it_waits_for_no_lock(void) {
    tern_helper *helper = set_up();
    pthread_mutex_lock(&played.network.lock);
    const uint64_t polls = atomic_load(&played.polls), turns = tern_helper_turns(helper);
    add_work();
    const uint64_t end = tern_now() + LIMIT_NS;
    while (tern_helper_turns(helper) < turns + 5 && tern_now() < end)
        usleep(NAP_US);
    CU_ASSERT(tern_helper_turns(helper) >= turns + 5);
    CU_ASSERT_EQUAL(atomic_load(&played.polls), polls);
    CU_ASSERT_EQUAL(atomic_load(&played.taken), 0);
    pthread_mutex_unlock(&played.network.lock);
    CU_ASSERT(await(&played.taken, 1));
    tear_down(helper);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"it_takes_what_comes", it_takes_what_comes},
        {"it_costs_little", it_costs_little},
        {"a_restless_network", a_restless_network},
        {"it_leaves_the_network_to_workers", it_leaves_the_network_to_workers},
        {"it_waits_for_no_lock", it_waits_for_no_lock},
    };
    return tern_test_main(argc, argv, "helper", tests, sizeof tests / sizeof *tests);
}
