#ifndef TERN_RPC_CALL_IN_PLACE_H
#define TERN_RPC_CALL_IN_PLACE_H

/*
 * Calls whose arguments are built in place (tern/call_in_place.h). A reservation is room for a
 * record at the write position of a ring, which does not move before the commit. So an open
 * reservation is no part of the ring's protocol: a commit does what any call does, and a cancel
 * leaves the ring as it was. In return nothing else may be written to the ring meanwhile.
 * tern_ring_is_reserved tells that to those who write and publish.
 *
 *     tern_worker.view.reserved   the target; written by the worker's own thread
 *     in_progress, in_handler     set meanwhile, so that no progress runs and nothing waits
 *     tern_rpc_worker.reserved    the memory of a reservation that has no room in the ring
 */

#include "tern/call_in_place.h"

/* Called once a round of progress: cancels a reservation that a handler has not ended. */
void tern_reservation_look(tern_worker *worker);

/* Frees what a reservation of the worker holds, when its context is destroyed. */
void tern_reservation_discard(tern_worker *worker);

#endif
