#ifndef TERN_SRC_DESTROYED_H
#define TERN_SRC_DESTROYED_H

/*
 * Destroyed contexts: the structures of the last ones and of their workers are kept, emptied, so
 * that a program that still uses one is told TERN_ERR_STATE instead of reading freed memory. Such a
 * context has no ranks, and such a worker runs a handler for ever: checks that every function makes
 * anyway refuse it, and the hot paths have no check more.
 */

#include "src/context.h"

/* Takes over the context, of which nothing else is left, and frees the oldest one kept. */
void tern_destroyed_keep(tern_context *context);

static inline bool tern_is_destroyed(const tern_context *context) { return context->size == 0; }

/* TERN_ERR_STATE, with the name of the function. */
tern_status tern_destroyed_fail(const char *function) __attribute__((cold));

#endif
