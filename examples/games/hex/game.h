#ifndef TERN_EXAMPLES_GAMES_HEX_GAME_H
#define TERN_EXAMPLES_GAMES_HEX_GAME_H

/* Hex as a game for tern's tree search. */

#include "examples/games/hex/board.h"
#include "tern/game.h"

/* Returns the game on boards of a geometry, which must live as long as the game. States are
 * hex_boards. */
tern_game hex_game(const hex_geometry *geometry);

/*
 * rollout.c: random games of Hex, in which every move is drawn with the same chance. Such a game
 * may continue until the board is full, because a connection stays one. On the full board, each
 * division of the empty cells between the players, in numbers that are known, is equally likely. So
 * no move has to be played. The division is drawn: first by whole words of random bits, then by
 * changing the owner of random cells until the numbers are right. One walk then finds the winner.
 */

/* Plays count games to the end, from a position that nobody has won yet. Returns how many black
 * wins. */
uint32_t hex_rollouts(const hex_geometry *g, const hex_board *b, uint32_t count,
                      tern_random *random);

#endif
