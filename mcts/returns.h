#ifndef TERN_MCTS_RETURNS_H
#define TERN_MCTS_RETURNS_H

/*
 * Remembers where tokens came from, at nodes that several parents share. Tokens in a node are
 * alike, so it does not matter which token returns to which parent: each takes the origin that was
 * pushed last. Only the owner's thread calls these functions.
 */

#include "mcts/search.h"

void tern_mcts_return_push(tern_mcts_worker *w, tern_mcts_node *node, uint64_t from, uint32_t slot);
/* from is 0 if the token began at this node. */
void tern_mcts_return_pop(tern_mcts_worker *w, tern_mcts_node *node, uint64_t *from,
                          uint32_t *slot);

#endif
