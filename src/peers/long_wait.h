#ifndef TERN_SRC_PEERS_LONG_WAIT_H
#define TERN_SRC_PEERS_LONG_WAIT_H

/*
 * The warning of a wait that lasts for TERN_STUCK_REPORT: which rank of which context waits in
 * which function, for which rank and for what, what that rank is in, and what the waiting rank has
 * not sent itself. Ranks are those of the context. A context that does not have the ranks of
 * MPI_COMM_WORLD says for each rank which one it is there, which is what log lines begin with.
 */

#include "src/progress/wait.h"

/* Of a wait that has lasted some ms: reports that this rank is in it, and, once a wait, logs the
 * warning. */
void tern_long_wait_look(tern_context *context, tern_wait_state *wait, uint32_t rank, uint64_t now);

#endif
