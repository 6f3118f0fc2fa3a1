/*
 * Trees of calls for the suites of quiescence: the calls that a call makes follow from its seed, so
 * any rank can work out the whole tree, and how many of its calls land on each worker.
 */

#ifndef TERN_TESTS_HARNESS_CALL_TREES_H
#define TERN_TESTS_HARNESS_CALL_TREES_H

#include <stdatomic.h>

#include "fixture.h"

enum { MOST_CHILDREN = 3, MOST_WORKERS = 256 };

typedef struct {
    uint64_t seed;
    uint32_t depth;
    uint32_t size, workers; /* ranks of the job, and workers of each */
} branch;

/* Of this process. */
static struct { atomic_uint_least64_t executed, failed; } here;

static inline tern_worker_id worker_at(const branch *b, uint32_t number) {
    return (tern_worker_id){number / b->workers, number % b->workers};
}

static inline uint32_t children_of(const branch *b) {
    uint64_t state = b->seed;
    return b->depth == 0 ? 0 : (uint32_t)below(&state, MOST_CHILDREN + 1);
}

static inline branch child_of(const branch *b, uint32_t i, uint32_t *number) {
    uint64_t state = b->seed + (i + 1) * UINT64_C(0xd1342543de82ef95);
    *number = (uint32_t)below(&state, (uint64_t)b->size * b->workers);
    return (branch){tern_test_random(&state), b->depth - 1, b->size, b->workers};
}

static tern_status grow(tern_call_info *call, const void *arguments, size_t bytes);
TERN_FUNCTION(grow)

static tern_status grow(tern_call_info *call, const void *arguments, size_t bytes) {
    branch b;
    memcpy(&b, arguments, sizeof b);
    (void)bytes;
    atomic_fetch_add(&here.executed, 1);
    for (uint32_t i = 0; i < children_of(&b); i++) {
        uint32_t number;
        branch child = child_of(&b, i, &number);
        if (tern_call(call->worker, worker_at(&b, number), &grow_function, &child, sizeof child) !=
            TERN_OK)
            atomic_fetch_add(&here.failed, 1);
    }
    return TERN_OK;
}

/* Adds how many calls of the tree land on each worker. */
static inline void expect(const branch *b, uint32_t number, uint64_t *counts) {
    counts[number]++;
    for (uint32_t i = 0; i < children_of(b); i++) {
        uint32_t next;
        branch child = child_of(b, i, &next);
        expect(&child, next, counts);
    }
}

#endif
