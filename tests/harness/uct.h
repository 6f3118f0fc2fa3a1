/*
 * A plain sequential UCT search, the reference for the distributed search. Each rollout goes down
 * by UCB to a move that has not been tried, plays games at random from there, and adds their result
 * on its way back. A node is simulated at its first visit, and later visits leave it by a move.
 * Several rollouts may be under way. They come back in the order in which they began, and until
 * then each has won nothing (virtual loss).
 */

#ifndef TERN_TESTS_HARNESS_UCT_H
#define TERN_TESTS_HARNESS_UCT_H

#include "tern/mcts.h"

typedef struct uct_options {
    uint32_t rollouts, simulations;
    double exploration;
    uint32_t under_way; /* 1: a sequential search */
} uct_options;

/* [out] visits: in the order of the moves that game->moves returns for state. */
void uct_search(const tern_game *game, const void *state, const uct_options *options, uint64_t seed,
                uint64_t *visits);

/* Returns half the sum of the differences of two distributions, given as counts: 0 if they are the
 * same, 1 if they are disjoint. */
double uct_distance(const uint64_t *a, const uint64_t *b, uint32_t count);

#endif
