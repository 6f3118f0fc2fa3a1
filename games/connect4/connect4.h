#ifndef TERN_GAMES_CONNECT4_H
#define TERN_GAMES_CONNECT4_H

/*
 * Connect Four: two players drop stones into seven columns of six cells; who first has four in a
 * row, upright, level or slanting, has won. Player 0 begins. A move is the number of a column, from
 * 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tern/game.h"

enum { CONNECT4_COLUMNS = 7, CONNECT4_ROWS = 6 };

/* Bit 7 * column + row of each player's stones; the seventh row stays empty, so that rows of bits
 * do not run into the next column. All zero: the empty board. */
typedef struct connect4_state {
    uint64_t stones[2];
} connect4_state;

extern const tern_game connect4;

/* Drops stones into the columns that a string of digits names, "3324", in turn. False: a column
 * does not exist or is full, or the game was over; the state has then those before it. */
bool connect4_play(connect4_state *state, const char *columns);

#endif
