#ifndef TERN_MCTS_WORK_H
#define TERN_MCTS_WORK_H

/* What workers do with tokens. No function waits, and handlers may call all of them. */

#include "mcts/search.h"

/* Other workers wait for a worker while it works. After this time it makes progress for them. */
enum { TERN_MCTS_SHORT_NS = 20000 };

/* A token arrives at the node name by the edge slot of the node from, or starts at the root (from
 * 0). */
void tern_mcts_go(tern_mcts_worker *w, uint64_t name, uint64_t from, uint32_t slot, uint32_t depth);

/* Handles the answer to a creation: the edge's child, or 0 if there was no room for it. */
void tern_mcts_settle(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint64_t child);

/* Lets count tokens that waited at an edge try again. */
void tern_mcts_retry(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint32_t count);

/* A token goes back up to the edge slot of name, or to the node itself, with won half points of
 * player 0. */
void tern_mcts_back(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint32_t won);

/* Returns the node of a state, which w has already or makes, or 0 if there is no room. */
uint64_t tern_mcts_make(tern_mcts_worker *w, const char *state, uint64_t parent, uint32_t slot,
                        uint32_t depth);

/* Lets one of the threads of this process play games from state. Their result goes back to edge
 * slot of name. */
void tern_mcts_simulate(tern_mcts_worker *w, const char *state, uint64_t name, uint32_t slot,
                        uint32_t depth);

/* Sends a message, or keeps it until there is room. state is for creations, else NULL. */
void tern_mcts_send(tern_mcts_worker *w, tern_mcts_kind kind, uint32_t target,
                    tern_mcts_message *message, const char *state);

/* Sends kept messages as far as there is room. Returns true if it sent some. */
bool tern_mcts_send_kept(tern_mcts_worker *w);

/* Runs one record of this worker's list: a simulation or some tokens. Returns false if the list was
 * empty. */
bool tern_mcts_work(tern_mcts_worker *w);

/* Returns NULL if there is no memory; the search has then failed. */
tern_mcts_record *tern_mcts_record_take(tern_mcts_worker *w);
void tern_mcts_record_give(tern_mcts_worker *w, tern_mcts_record *record);
void tern_mcts_records_free(tern_mcts_worker *w);

static inline void tern_mcts_append(tern_mcts_list *list, tern_mcts_record *record) {
    record->next = NULL;
    *list->end = record;
    list->end = &record->next;
}

static inline tern_mcts_record *tern_mcts_take_first(tern_mcts_list *list) {
    tern_mcts_record *record = list->first;
    list->first = record->next;
    if (list->first == NULL)
        list->end = &list->first;
    return record;
}

/*
 * returns.c: remembers where tokens came from, at nodes that several parents share. Tokens in a
 * node are alike, so it does not matter which token returns to which parent: each takes the origin
 * that was pushed last. Only the owner's thread calls these functions.
 */

void tern_mcts_return_push(tern_mcts_worker *w, tern_mcts_node *node, uint64_t from, uint32_t slot);
/* from is 0 if the token began at this node. */
void tern_mcts_return_pop(tern_mcts_worker *w, tern_mcts_node *node, uint64_t *from,
                          uint32_t *slot);

#endif
