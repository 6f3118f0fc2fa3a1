#ifndef TERN_RMA_RING_REMOTE_H
#define TERN_RMA_RING_REMOTE_H

/* The parts of rings that all transports between nodes share: opening a ring with the help of its
 * target, and the target's reports of how much it has consumed. */

#include "rma/ring/ring.h"

/* Asks the target for a ring of `pieces` pieces that begins at position start. */
tern_status tern_ring_ask_remote(tern_worker *worker, tern_out *out, uint32_t pieces,
                                 uint64_t start);
/* Looks for the target's answer to tern_ring_ask_remote. [out] ring: the ring that it granted.
 * TERN_ERR_AGAIN: no answer yet. TERN_ERR_MEMORY: the target has no ring left. */
tern_status tern_ring_asked_remote(tern_worker *worker, tern_out *out, uint32_t *ring);

/* Opens a ring with the help of its target: the open function of the transports between nodes. */
tern_status tern_ring_open_remote(tern_worker *worker, tern_out *out);

/* Tells the origin the consumed position. A message does this, not a put: MPI keeps no order
 * between two puts to the same word, so an older report could overwrite a newer one, which the
 * target would never repeat. */
tern_status tern_ring_report_remote(tern_worker *worker, tern_in *in);

/* Over a network: whether the last put of credit to the origin's worker page has ended. If it has
 * failed, the next credit makes up for it. */
bool tern_ring_credit_ended(tern_worker *worker, tern_in *in);

/* The credit that the target of a ring has told; it lies in the origin's worker page. */
static inline const tern_credit *tern_ring_credit(const tern_worker *worker, const tern_out *out) {
    const tern_context *context = worker->context;
    const tern_credit *credits = (const void *)(tern_worker_page(context, out->origin) +
                                                tern_rma_of(context)->layout.credits);
    return &credits[tern_endpoint_of(context, out->channel, out->target)];
}

/* The consumed position that the target has told so far, by messages. */
uint64_t tern_ring_consumed_remote(tern_worker *worker, const tern_out *out);

#endif
