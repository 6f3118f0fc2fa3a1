#include "rma/network/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* How long it rests: while workers make progress; at first and at most where the network always has
 * more to do; and at most on the descriptor, in case an event is lost. */
#define WATCH_NS 1000000
#define PAUSE_FIRST_NS 20000
#define PAUSE_LONGEST_NS 2000000
#define SLEEP_NS 200000000

struct tern_helper {
    tern_network *network;
    bool (*may_sleep)(tern_network *network);
    int descriptor;
    int wake; /* an eventfd, for tern_helper_stop */
    pthread_t thread;
    atomic_bool stop;
    _Atomic uint64_t turns;
};

/* Rests for that long. on_network: or until the network has work. */
static void helper_rest(tern_helper *helper, bool on_network, long nanoseconds) {
    struct pollfd files[] = {{helper->wake, POLLIN, 0}, {helper->descriptor, POLLIN, 0}};
    const struct timespec limit = {0, nanoseconds};
    (void)ppoll(files, on_network ? 2 : 1, &limit, NULL);
}

/* Makes progress if no other thread holds the lock. Returns whether the helper may now sleep on the
 * descriptor. */
static bool helper_progress(tern_helper *helper) {
    tern_network *network = helper->network;
    if (pthread_mutex_trylock(&network->lock) != 0)
        return false;
    network->ops->progress(network);
    const bool sleeps = helper->may_sleep(network);
    pthread_mutex_unlock(&network->lock);
    return sleeps;
}

static void *helper_run(void *argument) {
    tern_helper *helper = argument;
    uint64_t seen = 0;
    long pause = PAUSE_FIRST_NS;
    /* R1: tern_helper_stop */
    while (!atomic_load_explicit(&helper->stop, memory_order_acquire)) {
        /* R4 */
        const uint64_t rounds =
            atomic_load_explicit(&helper->network->rounds, memory_order_relaxed);
        const bool watches = rounds != seen;
        seen = rounds;
        /* R4; for tests */
        atomic_fetch_add_explicit(&helper->turns, 1, memory_order_relaxed);
        if (watches) {
            helper_rest(helper, false, WATCH_NS);
        } else if (helper_progress(helper)) {
            pause = PAUSE_FIRST_NS;
            helper_rest(helper, true, SLEEP_NS);
        } else {
            helper_rest(helper, false, pause);
            pause = pause < PAUSE_LONGEST_NS / 2 ? pause * 2 : PAUSE_LONGEST_NS;
        }
    }
    return NULL;
}

static int helper_start_thread(tern_helper *helper) {
    sigset_t all, before;
    /* Signals must go to the application's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&helper->thread, NULL, helper_run, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

tern_helper *tern_helper_start(tern_network *network, int descriptor,
                               bool (*may_sleep)(tern_network *network)) {
    tern_helper *helper = calloc(1, sizeof *helper);
    if (helper == NULL)
        return NULL;
    helper->network = network;
    helper->may_sleep = may_sleep;
    helper->descriptor = descriptor;
    helper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (helper->wake >= 0 && helper_start_thread(helper) == 0)
        return helper;
    if (helper->wake >= 0)
        close(helper->wake);
    free(helper);
    return NULL;
}

void tern_helper_stop(tern_helper *helper) {
    const uint64_t one = 1;
    if (helper == NULL)
        return;
    /* R1: helper_run */
    atomic_store_explicit(&helper->stop, true, memory_order_release);
    while (write(helper->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(helper->thread, NULL);
    close(helper->wake);
    free(helper);
}

uint64_t tern_helper_turns(const tern_helper *helper) {
    /* R4 */
    return atomic_load_explicit(&helper->turns, memory_order_relaxed);
}

uint64_t tern_helper_processor_ns(const tern_helper *helper) {
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(helper->thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return UINT64_MAX;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
