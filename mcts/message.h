#ifndef TERN_MCTS_MESSAGE_H
#define TERN_MCTS_MESSAGE_H

/* Calls between the parts of a search, and how their targets find it. */

#include "mcts/search.h"

static inline tern_mcts_head tern_mcts_head_to(const tern_search *search) {
    return (tern_mcts_head){search->nonce};
}

/* In a handler: the search that a message is for. NULL: it has not that length, or there is none.
 */
tern_search *tern_mcts_search_of(const tern_call_info *call, const void *message, size_t bytes,
                                 size_t due);

/* The node that a name from a call means, of this process. NULL: there is none. */
tern_mcts_node *tern_mcts_node_of(const tern_search *search, uint64_t name);

/* What a handler returns where one of these was NULL. */
tern_status tern_mcts_stray(void);

#endif
