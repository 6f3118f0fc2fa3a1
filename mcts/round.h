#ifndef TERN_MCTS_ROUND_H
#define TERN_MCTS_ROUND_H

/* A round of rollouts, and each worker's part in it. */

#include "mcts/search.h"

/* The plan of a round: so many rollouts, if the time suffices. The leader of the process that owns
 * the root makes it, while nothing is under way. last: no round follows. */
typedef struct tern_mcts_round {
    uint64_t rollouts;
    bool last;
} tern_mcts_round;

/* Returns whether this process owns the root. */
bool tern_mcts_has_root(const tern_search *search);

/* Works until round number is over and nothing of it is under way. plan is NULL except for the
 * leader that has the root. */
tern_status tern_mcts_round_run(tern_mcts_worker *w, uint64_t number, const tern_mcts_round *plan);

/* Waits until *word is value or more, and makes progress meanwhile. */
tern_status tern_mcts_await(tern_mcts_worker *w, atomic_uint_fast64_t *word, uint64_t value);

#endif
