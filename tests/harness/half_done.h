/*
 * Operations on queues that a rank begins and never ends, as if it died in the middle: it draws a
 * ticket, and does nothing with it. Only this file tells tests of queues about tickets.
 */

#ifndef TERN_TESTS_HARNESS_HALF_DONE_H
#define TERN_TESTS_HARNESS_HALF_DONE_H

#include "fixture.h"

#include "queue/queue.h"

/* Begins the first push to the queue; its item never comes. */
static inline void begin_first_push(fixture *f, const tern_queue *queue) {
    uint64_t seen;
    EXPECT_OK(tern_atomic_cas(f->worker, queue->tail, 0, 1, &seen));
}

/* Begins the first pop; its slot is never given back. */
static inline void begin_first_pop(fixture *f, const tern_queue *queue) {
    uint64_t seen;
    EXPECT_OK(tern_atomic_cas(f->worker, queue->head, 0, 1, &seen));
}

#endif
