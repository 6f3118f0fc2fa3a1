#ifndef TERN_RMA_TRANSPORT_POSTS_H
#define TERN_RMA_TRANSPORT_POSTS_H

/*
 * Completion numbers (paper 000, 4.1). A posted put, for which its caller does not wait, has the
 * number of the flush that will cover it: one more than the worker's flushes to that rank so far.
 * So a flush frees the sources of all earlier puts at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rma/memory/tables.h"
#include "tern/context.h"

/* The number of the next post. */
static inline uint64_t tern_posts_number(const tern_posts *posts) { return posts->flushes + 1; }

/* Whether the source of a post may be reused. */
static inline bool tern_posts_done(const tern_posts *posts, uint64_t number) {
    return number <= posts->flushes;
}

static inline void tern_posts_flushed(tern_posts *posts) {
    posts->flushes++;
    posts->open = 0;
}

/* Waits until the sources of all posts to rank may be reused. One wait covers all posts, and no
 * wait is needed if a flush came since. The puts need not have arrived; but where MPI's one-sided
 * operations are emulated, this waits until the target has served them. TERN_ERR_MPI. */
tern_status tern_posts_settle(tern_worker *worker, uint32_t rank);

/* Asks progress to settle the posts to rank. For callers that may not wait, such as handlers. */
void tern_posts_want(tern_worker *worker, uint32_t rank);
/* Settles the posts that were asked for; returns to how many ranks. Part of the layer's
 * progress. */
size_t tern_posts_advance(tern_worker *worker);

#endif
