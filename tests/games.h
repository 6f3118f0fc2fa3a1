/*
 * Two games that can be solved: tic-tac-toe, and Nim, where who takes the last stone wins. For
 * tests of the tree search.
 */

#ifndef TERN_TESTS_GAMES_H
#define TERN_TESTS_GAMES_H

#include <stdbool.h>

#include "tern/game.h"

/* Bits of the cells that each player has; player 0 begins. */
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

/* The result under best play by both, by trying everything. */
tern_game_result game_solve(const tern_game *game, const void *state);

/* Whether move keeps the result that game_solve gives for state. */
bool game_is_best(const tern_game *game, const void *state, uint32_t move);

/* A state after plies random moves that is not over, or false. */
bool game_random_state(const tern_game *game, const void *start, int plies, uint64_t *random,
                       void *state);

#endif
