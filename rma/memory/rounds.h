#ifndef TERN_RMA_MEMORY_ROUNDS_H
#define TERN_RMA_MEMORY_ROUNDS_H

/*
 * Each worker counts its rounds of progress in its worker page. A worker makes no round in the
 * middle of an operation on a container by load and store, unless the operation waits for another
 * worker. So once every worker has begun several more rounds, each has ended the operation that it
 * was in, or waits in it. A worker that computes, or that no thread uses, begins no round until it
 * comes to a collective call, and tern_rounds_pass returns false until then.
 */

#include "rma/memory/doorbell.h"
#include "src/context.h"

/* The state of a wait for the rounds of all workers, one after the other. All zero: at the
 * start. */
typedef struct tern_rounds {
    uint32_t passed; /* the workers with lower numbers have passed */
    uint32_t from;   /* the next worker's count when it was first read */
    bool began;
} tern_rounds;

static inline void tern_rounds_count(char *page, uint32_t rounds) {
    /* R1: tern_rounds_pass; what the worker did before is seen by a rank that has seen the count */
    atomic_store_explicit(&tern_doorbell_of(page)->rounds, rounds, memory_order_release);
}

/* Looks once: whether each worker of the job has begun count rounds since the first look. Always
 * false if some rank does not share memory. */
bool tern_rounds_pass(const tern_context *context, tern_rounds *rounds, uint32_t count);

#endif
