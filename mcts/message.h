#ifndef TERN_MCTS_MESSAGE_H
#define TERN_MCTS_MESSAGE_H

/* The calls between the parts of a search, and how a handler finds the search and its nodes. */

#include "mcts/search.h"

/* The kind of the parts of searches (tern/part.h). */
extern const char tern_mcts_part_kind[];

static inline tern_mcts_head tern_mcts_head_to(const tern_search *search) {
    return (tern_mcts_head){search->nonce};
}

/* For handlers: returns the search that a message is for. Returns NULL if the message does not have
 * the due length or the search does not exist. */
tern_search *tern_mcts_search_of(const tern_call_info *call, const void *message, size_t bytes,
                                 size_t due);

/* Returns the node of this process that a name from a call stands for, or NULL if there is none. */
tern_mcts_node *tern_mcts_node_of(const tern_search *search, uint64_t name);

/* Returns the status for a handler in which one of the two functions above returned NULL. */
tern_status tern_mcts_stray(void);

#endif
