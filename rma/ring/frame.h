#ifndef TERN_RMA_RING_FRAME_H
#define TERN_RMA_RING_FRAME_H

/*
 * A frame is a header and one or more records, which the origin puts together into the ring of a
 * remote target. MPI guarantees no order between puts and none inside a put. So the header holds
 * the frame's position in the ring, its lengths, and an XXH3 checksum of these and of the records,
 * seeded with the context's nonce, the origin's endpoint and the target. The target accepts a frame
 * only if the position, the lengths and the checksum agree. A frame of an earlier generation never
 * passes, because its position differs.
 *
 * With TERN_RMA_COMMIT=flush the target ignores the checksum of a frame that rma brings: the origin
 * flushes the frame and then puts two words that say how far the ring is published.
 */

#include <stdint.h>

#include "tern/context.h"

struct tern_out;

/* The header of a frame. */
typedef struct tern_frame {
    uint64_t position; /* of this header */
    uint32_t bytes;    /* of the records that follow */
    uint32_t skip;     /* bytes to skip after them, if the rest of the ring is too short */
    uint64_t check;
} tern_frame;

#define TERN_FRAME_BYTES sizeof(tern_frame)

/* Begins a frame at the write position. */
void tern_frame_open(struct tern_out *out);

/* Makes room for a record of size bytes. Begins a frame unless one is open, and goes on at the
 * beginning of the ring if the rest is too short. TERN_ERR_AGAIN: no credit. */
tern_status tern_frame_reserve(tern_worker *worker, struct tern_out *out, uint64_t size);

/* Waits until everything put into the ring so far has arrived at the target. */
tern_status tern_frame_settle(tern_worker *worker, struct tern_out *out);
/* Called before another worker goes on with the ring. If that worker could not wait for this
 * worker's puts (transport->settles_own), completes them here, so that the other worker may write
 * the staging memory. */
void tern_frame_hand_over(tern_worker *worker, struct tern_out *out);

/* Completes the header of the open frame. The caller then puts the frame: as many bytes as this
 * returns, from position out->frame on. */
uint64_t tern_frame_seal(tern_worker *worker, struct tern_out *out);

#endif
