#ifndef TERN_RMA_TRANSPORT_MPI_RMA_H
#define TERN_RMA_TRANSPORT_MPI_RMA_H

/* The rma transport: what tests and other transports use of it. */

#include "rma/network/window.h"

/* For tests: stands between tern and MPI's puts, to delay, reorder and split them as a network may.
 * The MPI lock is held. */
typedef struct tern_put_hook {
    /* Whether it has taken the put over: it then calls tern_window_put itself, in whatever pieces,
     * before the next flush of rank is over. */
    bool (*put)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                uint64_t bytes);
    /* rank is about to be flushed, at least locally. */
    void (*flush)(tern_worker *worker, uint32_t rank);
    /* As put, for what tern_put puts to segments, which it has to copy. May be NULL. */
    bool (*hold)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                 uint64_t bytes);
} tern_put_hook;

/* NULL: none. While no other worker is in use. */
void tern_window_set_hook(tern_window *window, const tern_put_hook *hook);
int tern_window_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                    uint64_t bytes);

/* Whether this place, of a context over rma, is reached by messages. */
bool tern_window_by_messages(const tern_worker *worker, uint64_t place);

#endif
