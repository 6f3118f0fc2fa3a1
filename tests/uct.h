/*
 * A plain sequential UCT, the reference for the distributed search: each rollout goes down by UCB
 * to a move that has not been tried, plays games at random from there, and adds the results on its
 * way. A node is simulated at its first visit and left by a move at later ones. Several rollouts
 * may be under way, which come back in the order in which they began; until then each has won
 * nothing (virtual loss).
 */

#ifndef TERN_TESTS_UCT_H
#define TERN_TESTS_UCT_H

#include "tern/mcts.h"

typedef struct uct_options {
    uint32_t rollouts, simulations;
    double exploration;
    uint32_t under_way; /* 1: a sequential search */
} uct_options;

/* [out] visits: by number of the move in what game->moves gives for state. */
void uct_search(const tern_game *game, const void *state, const uct_options *options, uint64_t seed,
                uint64_t *visits);

/* Half the sum of the differences of two distributions, from counts: 0 the same, 1 disjoint. */
double uct_distance(const uint64_t *a, const uint64_t *b, uint32_t count);

#endif
