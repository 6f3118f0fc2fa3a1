#ifndef TERN_RMA_TRANSPORT_TRANSPORT_H
#define TERN_RMA_TRANSPORT_TRANSPORT_H

/*
 * Transports. shm serves pairs of ranks that share memory; one of the others serves all other pairs
 * of a context. rma/memory/transport_ops.h is their interface, so that lower folders can call them.
 */

#include "rma/memory/transport_ops.h"

/* Whether rank (for TERN_ANYBODY: a remote rank) can read memory of this process, in its segment or
 * registered, only while this process makes progress. */
bool tern_gets_need_owner(const tern_worker *worker, uint32_t rank, bool registered);

/* Collective: chooses the transport for pairs that share no memory, and logs why. */
tern_status tern_transport_choose(tern_context *context);

extern const tern_transport_ops tern_transport_shm;
extern const tern_transport_ops tern_transport_rma;
extern const tern_transport_ops tern_transport_p2p;
extern const tern_transport_ops tern_transport_ofi;
extern const tern_transport_ops tern_transport_verbs;

#endif
