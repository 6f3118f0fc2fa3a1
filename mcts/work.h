#ifndef TERN_MCTS_WORK_H
#define TERN_MCTS_WORK_H

/* What workers do with tokens. Nothing here waits; all of it may run in handlers. */

#include "mcts/search.h"

/* Others wait for a worker while it works: after so long it sees to them. */
enum { TERN_MCTS_SHORT_NS = 20000 };

/* A token comes to the node name, by the edge slot of from (0: it starts here, at the root). */
void tern_mcts_go(tern_mcts_worker *w, uint64_t name, uint64_t from, uint32_t slot, uint32_t depth);

/* The answer to a creation: the edge's child is there, or 0, there was no room for it. */
void tern_mcts_settle(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint64_t child);

/* Tokens that were held up at an edge go on. */
void tern_mcts_retry(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint32_t count);

/* A token goes back up, to the edge slot of name or to the node itself, with won half points of
 * player 0. */
void tern_mcts_back(tern_mcts_worker *w, uint64_t name, uint32_t slot, uint32_t won);

/* The node of a state that w has or makes, or 0: no room. */
uint64_t tern_mcts_make(tern_mcts_worker *w, const char *state, uint64_t parent, uint32_t slot,
                        uint32_t depth);

/* Has games played from state by one of the threads of this process; what they give goes back to
 * slot of name. */
void tern_mcts_simulate(tern_mcts_worker *w, const char *state, uint64_t name, uint32_t slot,
                        uint32_t depth);

/* Sends a message, or keeps it until there is room. state: of create. */
void tern_mcts_send(tern_mcts_worker *w, tern_mcts_kind kind, uint32_t target,
                    tern_mcts_message *message, const char *state);

/* Sends what has been kept, as far as there is room. True: some of it. */
bool tern_mcts_send_kept(tern_mcts_worker *w);

/* One simulation, or some tokens, from this worker's own list. False: there was nothing. */
bool tern_mcts_work(tern_mcts_worker *w);

/* NULL: no memory; the search has failed. */
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

#endif
