#ifndef TERN_RMA_TRANSPORT_REMOTE_H
#define TERN_RMA_TRANSPORT_REMOTE_H

/* What the transports between nodes share. */

#include "rma/region/rkey.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"

/* Gets and holds the rkey of the region in which offset lies. If it lies in the segment, *rkey
 * stays as it is (NULL). */
static inline tern_status tern_remote_key_hold(tern_worker *worker, uint32_t rank, uint64_t offset,
                                               uint64_t bytes, tern_rkey **rkey) {
    return tern_offset_in_region(offset) ? tern_rkey_hold(worker, rank, offset, bytes, rkey)
                                         : TERN_OK;
}

/* Releases an rkey that tern_remote_key_hold may have left NULL. */
static inline void tern_remote_key_release(tern_worker *worker, tern_rkey *rkey, bool put) {
    if (rkey != NULL)
        tern_rkey_release(worker, rkey, put);
}

tern_status tern_remote_transfer_test(tern_worker *worker, tern_transfer *transfer, int *done);

#endif
