/*
 * Two games that can be solved, for tests of the tree search: tic-tac-toe, and Nim, in which the
 * player who takes the last stone wins.
 */

#ifndef TERN_TESTS_HARNESS_GAMES_H
#define TERN_TESTS_HARNESS_GAMES_H

#include <stdbool.h>

#include "tern/game.h"
#include "tern/mcts.h"

/* Bits of the cells that each player has. Player 0 begins. */
typedef struct tic_tac_toe_state {
    uint16_t cells[2];
} tic_tac_toe_state;

enum { NIM_PILES = 3 };

/* A move is 8 * pile + stones. */
typedef struct nim_state {
    uint8_t pile[NIM_PILES];
    uint8_t player;
} nim_state;

extern const tern_game tic_tac_toe; /* has a hash, and no rollouts of its own */
extern const tern_game nim;         /* has neither */

/* Returns the result under best play of both players, by trying all moves. */
tern_game_result game_solve(const tern_game *game, const void *state);

/* Returns whether move keeps the result that game_solve returns for state. */
bool game_is_best(const tern_game *game, const void *state, uint32_t move);

/* Plays plies random moves from start. Returns false if the resulting state is over. */
bool game_random_state(const tern_game *game, const void *start, int plies, uint64_t *random,
                       void *state);

/*
 * uct.c: a plain sequential UCT search, the reference for the distributed search. Each rollout goes
 * down by UCB to a move that has not been tried, plays games at random from there, and adds their
 * result on its way back. A node is simulated at its first visit, and later visits leave it by a
 * move. Several rollouts may be under way. They come back in the order in which they began, and
 * until then each has won nothing (virtual loss).
 */

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
