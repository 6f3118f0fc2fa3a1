#ifndef TERN_SRC_COLLECTIVE_ROOM_H
#define TERN_SRC_COLLECTIVE_ROOM_H

/*
 * Room: the memory that the collectives of a context work in, so that none of them needs more. A
 * rank takes it before it first waits for the others. If a rank lacks memory, it takes a reserve
 * instead, a few static bytes, and tells the others in it.
 *
 * After a death a collective may never end, nor can it be taken back: its request is leaked, and
 * MPI may still write what comes late. Then the room is left to MPI.
 */

#include "src/context.h"

/* Enough for what a rank without memory takes part in. */
enum { TERN_ROOM_RESERVE = 320 };

/* TERN_ERR_MEMORY: context->room is a reserve of TERN_ROOM_RESERVE bytes, or NULL if all reserves
 * are used. */
tern_status tern_room_open(tern_context *context, size_t bytes);
/* From now on context->room is NULL. */
void tern_room_leave(tern_context *context);
void tern_room_close(tern_context *context);

#endif
