#ifndef TERN_SRC_PROGRESS_PENDING_H
#define TERN_SRC_PROGRESS_PENDING_H

/*
 * Mover: something of several steps that a worker has under way, such as an operation that started
 * and returned. The worker's progress takes the next steps, whatever its thread waits for: others
 * may be waiting for what is half done. The list is the worker's own thread's.
 */

#include "src/context.h"

struct tern_mover {
    struct tern_mover *next;
    /* Takes steps that need not wait, and adds to events how many. Runs in progress; adds no mover.
     * False: nothing is under way any more, and the mover is off the list. */
    bool (*move)(tern_worker *worker, struct tern_mover *mover, size_t *events);
};

/* One that is not on the list. Not in progress. */
static inline void tern_mover_add(tern_worker *worker, tern_mover *mover) {
    mover->next = worker->movers;
    worker->movers = mover;
}

#endif
