#ifndef TERN_RMA_RING_LOOSE_H
#define TERN_RMA_RING_LOOSE_H

/*
 * Loose rings serve pairs for which the target has no ring memory left, or has taken it back
 * (rma/ring/reclaim.h). The origin stages its records and sends them by messages, also to ranks of
 * its own node, and the thread that serves a message appends them to memory of the target's
 * process. Positions, credit and order are those of any ring, so an origin has at most as many
 * bytes under way as a ring takes. Both sides allocate memory for it only with the first record.
 *
 * After a pair has sent many batches by messages, it asks for a ring, and again after as many more.
 */

#include "rma/ring/ring.h"

#define TERN_RING_NONE UINT32_MAX /* a loose ring has this instead of a ring's index */

typedef struct tern_loose tern_loose;

/* Makes out send by messages from its write position on. Nothing may be under way in its ring. */
void tern_loose_go(tern_worker *worker, tern_out *out);
/* Allocates the memory in which out stages its records. TERN_ERR_MEMORY. */
tern_status tern_loose_stage(tern_out *out);
/* Counts a batch that was sent by message, and asks for a ring now and then. */
void tern_loose_published(tern_worker *worker, tern_out *out);
/* Whether it is time to ask for a ring. */
bool tern_loose_wants_ring(const tern_out *out);

/* Finds where the records of a message go: into the loose ring from line to a worker of this
 * process. The first records create it. The MPI lock is held. False: no memory now. */
bool tern_loose_place(tern_context *context, uint32_t target_index, uint32_t line,
                      tern_ring_place *place);
/* Notes that records of line come by messages from position on. The MPI lock is held. False: no
 * memory now. */
bool tern_loose_begin(tern_context *context, uint32_t target_index, uint32_t line,
                      uint64_t position);

/* The consuming worker's part. _has_begun: whether line has a loose ring that the worker has not
 * taken yet. _take: in goes on in the loose ring. False: records before it are not consumed yet. */
bool tern_loose_has_begun(const tern_worker *worker, uint32_t line);
bool tern_loose_take(const tern_worker *worker, uint32_t line, tern_in *in);
/* Makes in read the loose ring's memory, if that has been allocated meanwhile. */
void tern_loose_look(const tern_worker *worker, uint32_t line, tern_in *in);

void tern_loose_close(tern_context *context);

#endif
