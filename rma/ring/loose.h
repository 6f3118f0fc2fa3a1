#ifndef TERN_RMA_RING_LOOSE_H
#define TERN_RMA_RING_LOOSE_H

/*
 * Loose rings: of pairs for which the target has no ring memory left, or has taken it back
 * (rma/ring/reclaim.h). The origin stages its records and sends them by messages, of ranks of its
 * node too, and the thread that serves a message appends them to memory of the target's process.
 * Positions, credit and order are those of any ring, so an origin has as much under way as a ring
 * takes. Both sides have memory for it once there is a record.
 *
 * A pair that has sent many batches so asks for a ring, and again after as many.
 */

#include "rma/ring/ring.h"

#define TERN_RING_NONE UINT32_MAX /* in the place of a ring's index */

typedef struct tern_loose tern_loose;

/* Makes out send by messages from its write position on; nothing is under way in it. */
void tern_loose_go(tern_worker *worker, tern_out *out);
/* Memory for its records. TERN_ERR_MEMORY. */
tern_status tern_loose_stage(tern_out *out);
/* One more batch was sent so: asks for a ring now and then. */
void tern_loose_published(tern_worker *worker, tern_out *out);
/* Whether it is time for that. */
bool tern_loose_wants_ring(const tern_out *out);

/* Where a message's records go: the loose ring from line to a worker of this process, which is made
 * for the first of them. The MPI lock is held. False: no memory now. */
bool tern_loose_place(tern_context *context, uint32_t target_index, uint32_t line,
                      tern_ring_place *place);
/* Records of the line come by messages from position on. The same holds. */
bool tern_loose_begin(tern_context *context, uint32_t target_index, uint32_t line,
                      uint64_t position);

/* The consuming worker's part: whether there is a loose ring from line that is not taken yet, and
 * taking it: in goes on there. False: records before it are not consumed yet. */
bool tern_loose_has_begun(const tern_worker *worker, uint32_t line);
bool tern_loose_take(const tern_worker *worker, uint32_t line, tern_in *in);
/* Its memory may be there now. */
void tern_loose_look(const tern_worker *worker, uint32_t line, tern_in *in);

void tern_loose_close(tern_context *context);

#endif
