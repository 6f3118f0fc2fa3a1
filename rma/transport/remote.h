#ifndef TERN_RMA_TRANSPORT_REMOTE_H
#define TERN_RMA_TRANSPORT_REMOTE_H

/* What the transports between nodes share. */

#include "rma/region/rkey.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"

/* Gets and holds the key of a place in a region. *key stays as it is (NULL) for a place in the
 * segment. */
static inline tern_status tern_far_hold(tern_worker *worker, uint32_t rank, uint64_t offset,
                                        uint64_t bytes, tern_rkey **key) {
    return tern_place_is_region(offset) ? tern_rkey_hold(worker, rank, offset, bytes, key)
                                        : TERN_OK;
}

static inline void tern_far_release(tern_worker *worker, tern_rkey *key, bool put) {
    if (key != NULL)
        tern_rkey_release(worker, key, put);
}

tern_status tern_far_test(tern_worker *worker, tern_transfer *transfer, int *done);

#endif
