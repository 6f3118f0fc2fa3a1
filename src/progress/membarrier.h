#ifndef TERN_SRC_PROGRESS_MEMBARRIER_H
#define TERN_SRC_PROGRESS_MEMBARRIER_H

/*
 * Membarriers: for two sides that each store a word and then load the other's (R3), of which one
 * does so all the time and the other seldom. The kernel makes every running thread of every
 * registered process execute a full barrier, so the busy side needs none. Where the kernel refuses
 * on some rank, tern_context.fences is set, and each side has a fence of its own.
 */

#include "src/context.h"

/* Registers this process. False: the kernel refuses. */
bool tern_membarrier_register(void);

/* The seldom side, between its store and its load. It needs a fence besides. */
void tern_membarrier(const tern_context *context);

#endif
