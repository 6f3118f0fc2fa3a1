#ifndef TERN_SRC_HOLDER_H
#define TERN_SRC_HOLDER_H

/* Holders: buffers and combiners. They keep what the program gives them until they are full or
 * flushed. Each worker lists its own, so that the warning of a long wait can name them. */

#include "src/context.h"

struct tern_holder {
    tern_holder *next;
    size_t (*count)(const tern_holder *holder); /* how many items it keeps; for warnings */
    const char *item;                           /* "key" */
    const char *place;                          /* "buffer" */
    const char *flush;                          /* the function that sends them */
};

static inline void tern_holder_add(tern_worker *worker, tern_holder *holder) {
    holder->next = worker->holders;
    worker->holders = holder;
}

static inline void tern_holder_remove(tern_worker *worker, const tern_holder *holder) {
    tern_holder **link = &worker->holders;
    while (*link != holder)
        link = &(*link)->next;
    *link = holder->next;
}

#endif
