#ifndef TERN_SRC_PEERS_LONG_WAIT_H
#define TERN_SRC_PEERS_LONG_WAIT_H

/*
 * The warning of a wait that has lasted for TERN_STUCK_REPORT. It says which rank of which context
 * waits, in which function, for which rank and for what; which function that rank is in; and what
 * the waiting rank itself has not sent. Ranks are those of the context. If they differ from the
 * ranks of MPI_COMM_WORLD, with which log lines begin, the warning gives those, too.
 */

#include "src/progress/wait.h"

/* Called by a wait that has lasted some ms: reports that this rank is in the wait, and logs the
 * warning once for each wait. */
void tern_long_wait_look(tern_context *context, tern_wait_state *wait, uint32_t rank, uint64_t now);

#endif
