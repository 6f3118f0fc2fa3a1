#ifndef TERN_MCTS_QUIET_H
#define TERN_MCTS_QUIET_H

/* Between runs, when nothing is under way: one worker of each rank, the caller, touches all nodes
 * of its process. */

#include "mcts/search.h"

/* Whether worker may call the function name now. */
tern_status tern_mcts_enter(tern_worker *worker, tern_search *search, const char *name);

/* An empty tree for search->root_state; on every rank. */
tern_status tern_mcts_plant(tern_search *search);

/* Collective: whether the books balance. At each node the visits are those of its edges and its
 * own; at each edge visits and points are those of the child, and its own where there was none.
 * TERN_ERR_STATE says what differs. For tests. */
tern_status tern_mcts_check(tern_worker *worker, tern_search *search);

#endif
