#ifndef TERN_RMA_RING_REMOTE_H
#define TERN_RMA_RING_REMOTE_H

/* What transports between nodes have in common of rings: opening one with the help of its target,
 * and what the target tells of what it has consumed. */

#include "rma/ring/ring.h"

/* Asks the target for a ring of so many pieces that begins at position start. */
tern_status tern_far_ask_ring(tern_worker *worker, tern_out *out, uint32_t pieces, uint64_t start);
/* [out] ring: what it gave. TERN_ERR_AGAIN: no answer yet. TERN_ERR_MEMORY. */
tern_status tern_far_ring_asked(tern_worker *worker, tern_out *out, uint32_t *ring);

/* Opens a ring with the help of its target, for both. */
tern_status tern_far_open_ring(tern_worker *worker, tern_out *out);

/* Tells the origin by a message: MPI keeps no order between two puts to one place, and a report
 * that an older one has overwritten is never made again. */
tern_status tern_far_report(tern_worker *worker, tern_in *in);

/* Whether the credit that was put last into the origin's board is there. Over a network. */
bool tern_far_credit_ended(tern_worker *worker, tern_in *in);

/* What the target of a ring has told, in the origin's board. */
static inline const tern_credit *tern_far_credit(const tern_worker *worker, const tern_out *out) {
    const tern_context *context = worker->context;
    const tern_credit *credits =
        (const void *)(tern_board(context, out->origin) + tern_rma_of(context)->layout.credits);
    return &credits[tern_line_of(context, out->channel, out->target)];
}

/* What the target has told so far, by messages. */
uint64_t tern_far_consumed(tern_worker *worker, const tern_out *out);

#endif
