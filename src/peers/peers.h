#ifndef TERN_SRC_PEERS_PEERS_H
#define TERN_SRC_PEERS_PEERS_H

/*
 * Peers: what tells of dead ranks beyond a pidfd (src/peer.h) and an error of MPI. This is the one
 * header that files of other folders include.
 *
 *     sibling.c    ranks of this machine, before the ranks have told each other who they are
 *     watch.h      connections to the listeners of ranks that no pidfd tells of
 *     listener.h   the thread of each process that answers on such a connection
 *     address.h    where listeners are
 *     stuck.h      ranks that stay in a call of MPI towards a dead rank
 *     activity.h   what a rank last reported to be in
 *     long_wait.h  the warning of a wait that lasts
 */

#include "src/peers/activity.h"
#include "src/peers/address.h"
#include "src/peers/listener.h"
#include "src/peers/long_wait.h"
#include "src/peers/stuck.h"
#include "src/peers/watch.h"

/* For a wait in the creation of a context that has lasted for so many nanoseconds. At first it does
 * nothing. Later it looks now and then, and watches the ranks that it finds. If all ranks of
 * MPI_COMM_WORLD are of this machine and a look can see all of the launcher's processes, it takes
 * those of the context that two such looks have missed for dead. */
void tern_siblings_look(tern_context *context, uint64_t waited);

#endif
