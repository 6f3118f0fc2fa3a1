#ifndef TERN_RMA_RING_FRAME_H
#define TERN_RMA_RING_FRAME_H

/*
 * Frames are runs of records that a remote origin puts with MPI, which promises no order between
 * or inside puts. The header of a frame holds its ring position, its length and an XXH3 checksum of
 * both and of the content, seeded with the context's nonce, the pair and the ring. The target
 * accepts a frame only if all agree. Content of an earlier generation never passes, since its
 * position was another one.
 */

#include <stdint.h>

#include "tern/context.h"

struct tern_out;

typedef struct tern_frame {
    uint64_t position; /* of this header */
    uint32_t bytes;    /* of the records that follow */
    uint32_t skip;     /* bytes to skip after them, when the end of the ring is too short */
    uint64_t check;
} tern_frame;

#define TERN_FRAME_BYTES sizeof(tern_frame)

/* Begins a frame at the write position. */
void tern_frame_open(struct tern_out *out);

/* Makes room for a record of size bytes; opens a frame or wraps if need be. TERN_ERR_AGAIN: no
 * credit. */
tern_status tern_frame_reserve(tern_worker *worker, struct tern_out *out, uint64_t size);

/* Waits until everything put into the ring so far has arrived at the target. */
tern_status tern_frame_settle(tern_worker *worker, struct tern_out *out);
/* Called before another worker goes on with the ring. Where the other worker could not wait for the
 * puts of this one, completes them first, so the staging memory is free. */
void tern_frame_hand_over(tern_worker *worker, struct tern_out *out);

/* Completes the header of the open frame. Returns how many bytes, from position out->frame on, the
 * caller has to put. */
uint64_t tern_frame_seal(tern_worker *worker, struct tern_out *out);

#endif
