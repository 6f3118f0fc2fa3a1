#ifndef TERN_RMA_RING_BATCH_H
#define TERN_RMA_RING_BATCH_H

/*
 * Batches: runs of records that a far origin puts with MPI, which promises no order between or
 * inside puts. A batch says its ring position, its length and an XXH3 checksum of both and of the
 * content, seeded with the context's nonce, the pair and the ring; the target accepts it only when
 * all agree. Old content never passes, since its position was another one.
 */

#include <stdint.h>

#include "tern/context.h"

struct tern_out;

typedef struct tern_batch {
    uint64_t position; /* of this header */
    uint32_t bytes;    /* of the records that follow */
    uint32_t skip;     /* bytes to leave out after them: the end of the ring is too short */
    uint64_t check;
} tern_batch;

#define TERN_BATCH_BYTES sizeof(tern_batch)

/* Begins a batch at the write position. */
void tern_batch_open(struct tern_out *out);

/* Makes room for a record of so many bytes, opening a batch or wrapping if need be. TERN_ERR_AGAIN:
 * no credit. */
tern_status tern_batch_reserve(tern_worker *worker, struct tern_out *out, uint64_t size);

/* Waits until what was put of the ring so far is at its target. */
tern_status tern_batch_settle(tern_worker *worker, struct tern_out *out);
/* Before another worker goes on with the ring: what this one has put from its staging memory is
 * complete, where the other could not wait for it. */
void tern_batch_hand_over(tern_worker *worker, struct tern_out *out);

/* Completes the header of the open batch and returns how many bytes from out->batch on are to be
 * put. */
uint64_t tern_batch_seal(tern_worker *worker, struct tern_out *out);

#endif
