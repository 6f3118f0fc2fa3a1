#ifndef TERN_SRC_COLLECTIVE_COLLECTIVE_BUFFER_H
#define TERN_SRC_COLLECTIVE_COLLECTIVE_BUFFER_H

/*
 * Collective buffer: the memory that the collectives of a context send from and receive into. It is
 * allocated once, so no collective needs more. A rank allocates it before it first waits for the
 * others. A rank without memory takes a reserve instead, a few static bytes, and uses it to tell
 * the others.
 *
 * After a death a collective may never end, and MPI cannot cancel it. tern then leaks its request
 * and the buffer, since MPI may still write a late message to it.
 */

#include "src/context.h"

/* Enough for the collectives that a rank without memory takes part in. */
enum { TERN_COLLECTIVE_BUFFER_RESERVE = 320 };

/* TERN_ERR_MEMORY: there is no memory, and context->collective_buffer is a reserve of
 * TERN_COLLECTIVE_BUFFER_RESERVE bytes, or NULL if all reserves are in use. */
tern_status tern_collective_buffer_open(tern_context *context, size_t bytes);
/* Leaves the buffer to MPI: from now on context->collective_buffer is NULL. */
void tern_collective_buffer_leave(tern_context *context);
void tern_collective_buffer_close(tern_context *context);

#endif
