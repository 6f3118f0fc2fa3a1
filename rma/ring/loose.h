#ifndef TERN_RMA_RING_LOOSE_H
#define TERN_RMA_RING_LOOSE_H

/*
 * Loose rings: of pairs for which the target has no ring memory left. The origin stages its records
 * and sends them by messages, of ranks of its node too, and the thread that serves a message
 * appends them to memory of the target's process. Positions, credit and order are those of any
 * ring, so an origin has as much under way as a ring takes.
 */

#include "rma/ring/ring.h"

#define TERN_RING_NONE UINT32_MAX /* in the place of a ring's index */

typedef struct tern_loose tern_loose;

/* Makes out send by messages. TERN_ERR_MEMORY. */
tern_status tern_loose_open(tern_worker *worker, tern_out *out);

/* Where a message's records go: the loose ring from line to a worker of this process, which is made
 * for the first of them. The MPI lock is held. False: no memory now. */
bool tern_loose_place(tern_context *context, uint32_t target_index, uint32_t line,
                      tern_ring_place *place);

/* The target's side of the loose ring from a line, or NULL. */
tern_in *tern_loose_in(tern_worker *worker, uint32_t line);

void tern_loose_close(tern_context *context);

#endif
