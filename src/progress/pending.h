#ifndef TERN_SRC_PROGRESS_PENDING_H
#define TERN_SRC_PROGRESS_PENDING_H

/*
 * Mover: something of several steps that a worker has under way, such as an operation that started
 * and returned. The worker's progress takes the next steps, whatever its thread waits for: others
 * may be waiting for what is half done. The list is the worker's own thread's.
 */

#include "src/context.h"

struct tern_pending {
    struct tern_pending *next;
    /* Takes steps that need not wait, and adds to events how many. Runs in progress; adds no
     * pending. False: nothing is under way any more, and the pending is off the list. */
    bool (*move)(tern_worker *worker, struct tern_pending *pending, size_t *events);
};

/* One that is not on the list. Not in progress. */
static inline void tern_pending_add(tern_worker *worker, tern_pending *pending) {
    pending->next = worker->pending;
    worker->pending = pending;
}

#endif
