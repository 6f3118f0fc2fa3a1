#ifndef TERN_RMA_TRANSPORT_MPI_RMA_H
#define TERN_RMA_TRANSPORT_MPI_RMA_H

/* The functions of the rma transport that tests and other transports use. */

#include "rma/network/window.h"

/* For tests: hooks between tern and MPI's puts, which delay, reorder and split puts as a network
 * may. Each is called with the MPI lock held. */
typedef struct tern_put_hook {
    /* Returns whether it has taken over the put. Then it calls tern_window_put itself, in pieces of
     * its choice, before the next flush of rank ends. */
    bool (*put)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                uint64_t bytes);
    /* Called when rank is about to be flushed, at least locally. */
    void (*flush)(tern_worker *worker, uint32_t rank);
    /* Like put, for the puts of tern_put to segments; has to copy the data. May be NULL. */
    bool (*hold)(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                 uint64_t bytes);
} tern_put_hook;

/* Sets the hooks; NULL removes them. Only while no other worker is in use. */
void tern_window_set_hook(tern_window *window, const tern_put_hook *hook);
int tern_window_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                    uint64_t bytes);

/* Whether a context over rma reaches this offset by messages: it lies in a region, and MPI has no
 * window for regions. */
bool tern_window_by_messages(const tern_worker *worker, uint64_t offset);

#endif
