#ifndef TERN_RMA_MEMORY_ROUNDS_H
#define TERN_RMA_MEMORY_ROUNDS_H

/*
 * Rounds: each worker counts its rounds of progress in its board. What a worker does to a container
 * by load and store it does in one go, with no round in between, unless it waits there for another
 * worker. So when every worker has begun several more rounds, each has ended what it was in the
 * middle of, or waits. A worker that computes, or that no thread has, begins no round until it
 * comes to a collective call, and nothing is concluded until then.
 */

#include "rma/memory/doorbell.h"
#include "src/context.h"

/* A wait for the rounds of all workers, one after the other. All zero: none has been looked at. */
typedef struct tern_rounds {
    uint32_t passed; /* workers, by number */
    uint32_t from;   /* the count of the next one when it was first looked at */
    bool began;
} tern_rounds;

static inline void tern_rounds_count(char *board, uint32_t rounds) {
    /* R1: tern_rounds_pass; what the worker did before is seen by a rank that has seen the count */
    atomic_store_explicit(&tern_doorbell_of(board)->rounds, rounds, memory_order_release);
}

/* One look. Whether each worker of the job has begun so many rounds since the first look. Never
 * where some rank does not share memory. */
bool tern_rounds_pass(const tern_context *context, tern_rounds *rounds, uint32_t count);

#endif
