#ifndef TERN_SRC_PEERS_PEERS_H
#define TERN_SRC_PEERS_PEERS_H

/*
 * Peers: how dead ranks are noticed in other ways than by a pidfd (src/peer.h) or an error of MPI.
 * Files of other folders include only this header.
 *
 *     sibling.c    ranks of this machine, before the ranks have told each other who they are
 *     watch.h      connections to the listeners of ranks that no pidfd tells of
 *     listener.h   the thread of each process that answers on such a connection
 *     address.h    where listeners are
 *     stuck.h      ranks that stay in a call of MPI towards a dead rank
 *     lost.h       connections that MPI has lost
 *     activity.h   what a rank last reported to be in
 *     long_wait.h  the warning of a wait that lasts
 */

#include "src/peers/activity.h"
#include "src/peers/address.h"
#include "src/peers/listener.h"
#include "src/peers/long_wait.h"
#include "src/peers/lost.h"
#include "src/peers/stuck.h"
#include "src/peers/watch.h"

/* Called by a wait in the creation of a context. waited: how many nanoseconds it has lasted. At
 * first this does nothing. Later it looks now and then for the processes of the ranks, and watches
 * those that it finds. If all ranks of MPI_COMM_WORLD are on this machine and a look can see all of
 * the launcher's processes, it takes ranks of the context that two such looks have missed for dead.
 */
void tern_siblings_look(tern_context *context, uint64_t waited);

#endif
