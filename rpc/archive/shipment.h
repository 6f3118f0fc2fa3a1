#ifndef TERN_RPC_ARCHIVE_SHIPMENT_H
#define TERN_RPC_ARCHIVE_SHIPMENT_H

/* Shipments: calls whose chunks have not been fetched. Each keeps the buffers that its chunks lie
 * in until its target says, in a reply cell, that it has them. */

#include "src/context.h"
#include "tern/call.h"

/* Lets go of what has been fetched; how many. The progress of the layer. */
size_t tern_shipments_advance(tern_worker *worker);

void tern_shipments_discard(tern_worker *worker);

#endif
