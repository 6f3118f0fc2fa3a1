#ifndef TERN_RPC_SHIPMENT_H
#define TERN_RPC_SHIPMENT_H

/* Shipments: calls whose chunks have not been fetched. Each keeps the buffers that its chunks lie
 * in until its target says, in a reply cell, that it has them. */

#include "src/context.h"
#include "tern/call.h"

/* Makes a call whose arguments no ring takes: they are copied, and travel as a chunk. header: as
 * tern_call_header gives it; future: of the result, or NULL. TERN_ERR_AGAIN: memory or reply cells
 * are lacking that earlier such calls hold, and full is not to wait; TERN_ERR_MEMORY;
 * TERN_ERR_RANGE: more than TERN_CHUNK_MAX; else as tern_outgoing_send. */
tern_status tern_call_large(tern_worker *worker, uint32_t target, uint64_t header,
                            const void *arguments, size_t bytes, tern_full full,
                            tern_future *future);

/* Lets go of what has been fetched; how many. The progress of the layer. */
size_t tern_shipments_advance(tern_worker *worker);

void tern_shipments_discard(tern_worker *worker);

#endif
