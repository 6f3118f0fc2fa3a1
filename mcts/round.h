#ifndef TERN_MCTS_ROUND_H
#define TERN_MCTS_ROUND_H

/* A round of rollouts, as each worker takes part in it. */

#include "mcts/search.h"

/* Of the process that owns the root, by its leader, at a quiet point: so many rollouts, if time
 * does not run out. last: no round follows. */
typedef struct tern_mcts_round {
    uint64_t rollouts;
    bool last;
} tern_mcts_round;

/* Whether this process owns the root. */
bool tern_mcts_has_root(const tern_search *search);

/* Works until round number is over and quiet. plan: of the leader that has the root, else NULL. */
tern_status tern_mcts_round_run(tern_mcts_worker *w, uint64_t number, const tern_mcts_round *plan);

/* Waits, making progress, until *word is value or more. */
tern_status tern_mcts_await(tern_mcts_worker *w, atomic_uint_fast64_t *word, uint64_t value);

#endif
