#ifndef TERN_RMA_RING_GROWTH_H
#define TERN_RMA_RING_GROWTH_H

/*
 * Growing: a ring that is full is followed by one of twice the size, up to
 * TERN_RING_GROWTH times the first. A record of the kind MOVED, whose id names the new ring, ends
 * the old one; positions go on in the new one, so order and credit stay as they are. Room for that
 * record is always kept free.
 */

#include "rma/ring/ring.h"

/* Bytes that a far reservation leaves free: the record, with its batch header over rma, or with the
 * zero behind it over p2p. A near ring has the word that ends its content. */
#define TERN_MOVE_ROOM 32u

/* For a full ring. TERN_OK: a larger, empty one has taken its place. TERN_ERR_AGAIN: not now. */
tern_status tern_ring_grow(tern_worker *worker, tern_out *out);

/* The target's part: follows the MOVED record at the head of in. False: the ring that it names is
 * not its origin's. */
bool tern_ring_follow(tern_worker *worker, tern_in *in, uint64_t header);

#endif
