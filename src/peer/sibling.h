#ifndef TERN_SRC_PEER_SIBLING_H
#define TERN_SRC_PEER_SIBLING_H

/*
 * Siblings: the ranks of this machine, as the launcher's processes under /proc. A rank that waits
 * for others before they could tell each other who they are has no other way to notice a death.
 */

#include <stdint.h>

struct tern_context;

/* For a wait in the creation of a context that has lasted for so many nanoseconds. At first it does
 * nothing. Later it looks now and then, and watches the ranks that it finds. If all ranks of
 * MPI_COMM_WORLD are of this machine and a look can see all of the launcher's processes, it takes
 * those of the context that two such looks have missed for dead. */
void tern_siblings_look(struct tern_context *context, uint64_t waited);

#endif
