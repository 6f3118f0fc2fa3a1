#ifndef TERN_MCTS_RETURNS_H
#define TERN_MCTS_RETURNS_H

/*
 * Where tokens came from, at nodes that several parents share. Tokens in a node are alike, so it
 * does not matter which of them goes back to which parent: each takes the place that was left last.
 * Only the owner's thread uses them.
 */

#include "mcts/search.h"

void tern_mcts_return_push(tern_mcts_worker *w, tern_mcts_node *node, uint64_t from, uint32_t slot);
/* from 0: the token began here. */
void tern_mcts_return_pop(tern_mcts_worker *w, tern_mcts_node *node, uint64_t *from,
                          uint32_t *slot);

#endif
