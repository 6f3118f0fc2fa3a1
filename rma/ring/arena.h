#ifndef TERN_RMA_RING_ARENA_H
#define TERN_RMA_RING_ARENA_H

/*
 * Arena: the ring memory of a rank, in pieces of TERN_RING_SIZE, each with a header line that names
 * the line which has it. A ring is one piece at first and 2, 4, ... adjacent ones
 * when it has grown. Pieces are taken by CAS of their owners, so a rank killed half-way keeps no
 * more than it has taken and blocks nobody. Rings that grow take pieces of one half only: pairs
 * that have not met yet find theirs in the other.
 */

#include "src/context.h"

/* Takes a ring in the memory of a rank whose segment is mapped and makes it ready for records from
 * position start on. [out] ring: its first piece. TERN_ERR_MEMORY. */
tern_status tern_arena_claim(tern_context *context, uint32_t rank, uint32_t line, uint32_t pieces,
                             uint64_t start, uint32_t *ring);

/* Gives a ring of this rank back. Nobody writes into it any more. */
void tern_arena_release(tern_context *context, uint32_t ring, uint64_t bytes);

/* Whether line has this rank's pieces [ring, ring + pieces). */
bool tern_arena_is_of(const tern_context *context, uint32_t line, uint32_t ring, uint64_t pieces);

/* Size of the ring of this rank that begins there, 0 if none does. */
uint64_t tern_arena_ring_bytes(const tern_context *context, uint32_t ring);

#endif
