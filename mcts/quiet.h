#ifndef TERN_MCTS_QUIET_H
#define TERN_MCTS_QUIET_H

/* Functions for the time between runs, when nothing is under way. The calling worker of each rank
 * then touches all nodes of its process. */

#include "mcts/search.h"

/* Begins the collective function called name. Returns TERN_OK if the worker may call it now; then
 * tern_collective_end ends it. */
tern_status tern_mcts_begin(tern_worker *worker, tern_search *search, const char *name);

/* Makes an empty tree for search->root_state. Every rank calls it. */
tern_status tern_mcts_plant(tern_search *search);

/* For tests. Collective. Checks that all counts add up: the visits of a node are those of its edges
 * and its own; the visits and points of an edge are those of its child, and its own of the time
 * without a child. Returns TERN_ERR_STATE with a text that says what differs. */
tern_status tern_mcts_check(tern_worker *worker, tern_search *search);

#endif
