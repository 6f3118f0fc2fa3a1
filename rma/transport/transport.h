#ifndef TERN_RMA_TRANSPORT_TRANSPORT_H
#define TERN_RMA_TRANSPORT_TRANSPORT_H

/*
 * Transports. shm serves pairs that share memory; one of the others serves all other pairs of a
 * context. rma/memory/transport_ops.h is their interface, and folders below this one have a table
 * of its functions.
 */

#include "rma/memory/transport_ops.h"

/* Whether rank, or for TERN_ANYBODY a far one, gets memory of this process, of its segment or
 * registered, only while this process makes progress. */
bool tern_gets_need_owner(const tern_worker *worker, uint32_t rank, bool registered);

/* Collective: chooses what serves pairs that share no memory, and says why. */
tern_status tern_transport_choose(tern_context *context);

extern const tern_transport_ops tern_transport_shm;
extern const tern_transport_ops tern_transport_rma;
extern const tern_transport_ops tern_transport_p2p;
extern const tern_transport_ops tern_transport_ofi;
extern const tern_transport_ops tern_transport_verbs;

#endif
