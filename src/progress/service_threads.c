#include "src/progress/progress.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "src/context.h"
#include "src/log.h"
#include "src/progress/wait.h"

/* A thread that finds nothing polls for about the time of a context switch and then naps, longer
 * each time. A request to a process that was idle for a while waits for at most the longest nap. */
enum { ROUNDS = 200, NAP_FIRST_NS = 20000, NAP_LONGEST_NS = 1000000 };

struct tern_service_threads {
    atomic_bool stop;
    size_t running;
    pthread_t thread[];
};

static void service_thread_nap(long ns) {
    struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

/* Only the worker's own thread writes the word, and no other data depends on it. */
void tern_worker_attend(tern_worker *worker) {
    if (worker->context->config.service_threads == 0)
        return;
    /* R5 */
    const uint64_t times = atomic_load_explicit(&worker->attended, memory_order_relaxed) >> 32;
    atomic_store_explicit(&worker->attended, (times + 1) << 32 | (uint32_t)sched_getcpu(),
                          memory_order_relaxed);
}

/* Sums how often the application's workers on this thread's core have attended. If they attend, the
 * sum changes. */
static uint64_t attended_on_core(const tern_context *context) {
    const uint32_t here = (uint32_t)sched_getcpu();
    uint64_t sum = 0;
    for (size_t i = 0; i < context->config.workers; i++) {
        /* R4 */
        uint64_t one = atomic_load_explicit(&context->worker[i]->attended, memory_order_relaxed);
        sum += (uint32_t)one == here ? one >> 32 : 0;
    }
    return sum;
}

/* A round that finds events keeps the thread awake. The exception are messages, if a worker on this
 * core also asks for them: then that worker serves them. */
static void *service_thread_serve(void *argument) {
    tern_worker *worker = argument;
    const tern_context *context = worker->context;
    uint64_t before = 0;
    int quiet = 0;
    tern_worker_taken(worker);
    long ns = NAP_FIRST_NS;
    /* R1: tern_service_threads_stop */
    while (!atomic_load_explicit(&context->service->stop, memory_order_acquire)) {
        const uint64_t attended = attended_on_core(context), served = worker->stats.messages_served;
        const bool others = attended != before;
        before = attended;
        const size_t found = tern_progress_alone(worker);
        if (found > (others ? worker->stats.messages_served - served : 0)) {
            quiet = 0;
            ns = NAP_FIRST_NS;
        } else if (!others && ++quiet < ROUNDS) {
            tern_relax();
        } else {
            service_thread_nap(ns);
            ns = ns < NAP_LONGEST_NS / 2 ? ns * 2 : NAP_LONGEST_NS;
        }
    }
    return NULL;
}

tern_status tern_service_threads_start(tern_context *context) {
    size_t count = context->config.service_threads, first = context->config.workers;
    if (count == 0)
        return TERN_OK;
    tern_service_threads *service = calloc(1, sizeof *service + count * sizeof service->thread[0]);
    if (service == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %zu service threads", count);
    context->service = service;
    /* Signals are for the application's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        tern_worker *worker = context->worker[first + i];
        /* R9: service_thread_serve; before that thread begins */
        atomic_store_explicit(&worker->use, TERN_WORKER_ADOPTED, memory_order_relaxed);
        error = pthread_create(&service->thread[i], NULL, service_thread_serve, worker);
        service->running += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? TERN_OK
                      : tern_fail(TERN_ERR_SYSTEM,
                                  "only %zu of %zu service threads could be started: %s; lower "
                                  "TERN_SERVICE_THREADS",
                                  service->running, count, strerror(error));
}

void tern_service_threads_stop(tern_context *context) {
    tern_service_threads *service = context->service;
    if (service == NULL)
        return;
    /* R1: service_thread_serve */
    atomic_store_explicit(&service->stop, true, memory_order_release);
    for (size_t i = 0; i < service->running; i++)
        pthread_join(service->thread[i], NULL);
    for (size_t i = context->config.workers; i < context->workers; i++)
        /* R6: tern_worker_borrow */
        atomic_store_explicit(&context->worker[i]->use, TERN_WORKER_FREE, memory_order_release);
    context->service = NULL;
    free(service);
}
