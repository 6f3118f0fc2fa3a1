/* What the suites share that give a worker to each of their threads, while the thread that created
 * the context's objects serves calls. */

#ifndef TERN_TESTS_HARNESS_THREAD_TOOLS_H
#define TERN_TESTS_HARNESS_THREAD_TOOLS_H

#include <pthread.h>

#include "fixture.h"

/* Waits until the thread has ended, making progress meanwhile: it may wait for other ranks, which
 * call this worker. */
static inline void join_serving(fixture *f, pthread_t thread) {
    while (pthread_tryjoin_np(thread, NULL) != 0)
        if (tern_progress(f->worker) == 0)
            sched_yield();
}

/* Runs work for each of count jobs of bytes each, in threads of their own. */
static inline void run_serving(fixture *f, void *(*work)(void *job), void *jobs, size_t bytes,
                               size_t count) {
    pthread_t threads[8];
    CU_ASSERT_FATAL(count <= sizeof threads / sizeof threads[0]);
    for (size_t t = 0; t < count; t++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[t], NULL, work, (char *)jobs + t * bytes), 0);
    for (size_t t = 0; t < count; t++)
        join_serving(f, threads[t]);
}

#endif
