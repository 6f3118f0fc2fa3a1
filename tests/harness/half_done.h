/*
 * Operations on queues that a rank begins and never ends, as if it died in their middle: a ticket
 * is drawn, and nothing is done with it. Tests of queues know of tickets by this file alone.
 */

#ifndef TERN_TESTS_HARNESS_HALF_DONE_H
#define TERN_TESTS_HARNESS_HALF_DONE_H

#include "fixture.h"

#include "queue/queue.h"

/* The first push to the queue, whose item never comes. */
static inline void begin_first_push(fixture *f, const tern_queue *queue) {
    uint64_t seen;
    EXPECT_OK(tern_atomic_cas(f->worker, queue->tail, 0, 1, &seen));
}

/* The first pop, whose slot is never given back. */
static inline void begin_first_pop(fixture *f, const tern_queue *queue) {
    uint64_t seen;
    EXPECT_OK(tern_atomic_cas(f->worker, queue->head, 0, 1, &seen));
}

#endif
