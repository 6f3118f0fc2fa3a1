#ifndef TERN_RMA_MEMORY_STRIPE_H
#define TERN_RMA_MEMORY_STRIPE_H

/*
 * Locks for updates of numbers that no atomic of the processor holds: 16 bytes. They lie in the
 * owner's segment, TERN_STRIPES lines of a word each; the number's offset chooses the stripe. The
 * word is 0, or 1 + the rank that holds the lock.
 *
 * A holder updates one number and calls nothing meanwhile, so a wait for it is short, needs
 * nobody's progress, and is allowed in handlers and while messages are served. If a rank dies while
 * it holds a lock, the next rank that wants the lock takes it over. The number may then have a word
 * of its old value and a word of the new one.
 */

#include "src/context.h"

/* Takes the lock of the number at an address in the segment of rank, which load/store reaches. */
_Atomic uint64_t *tern_stripe_lock(tern_context *context, uint32_t rank, const void *address);
void tern_stripe_unlock(_Atomic uint64_t *stripe);

#endif
