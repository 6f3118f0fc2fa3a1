#ifndef TERN_EXAMPLES_GAMES_HEX_GAME_H
#define TERN_EXAMPLES_GAMES_HEX_GAME_H

/* Hex as a game for tern's tree search. */

#include "examples/games/hex/board.h"
#include "tern/game.h"

/* Returns the game on boards of a geometry, which must live as long as the game. States are
 * hex_boards. */
tern_game hex_game(const hex_geometry *geometry);

#endif
