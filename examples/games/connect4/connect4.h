#ifndef TERN_GAMES_CONNECT4_H
#define TERN_GAMES_CONNECT4_H

/*
 * Connect Four: two players drop stones into seven columns of six cells. The first player with four
 * stones in a vertical, horizontal or diagonal row wins. Player 0 begins. A move is the number of a
 * column, from 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tern/game.h"

enum { CONNECT4_COLUMNS = 7, CONNECT4_ROWS = 6 };

/* Bit 7 * column + row of each player's stones. The seventh bit of a column stays 0, so that a row
 * of bits cannot continue in the next column. All zero is the empty board. */
typedef struct connect4_state {
    uint64_t stones[2];
} connect4_state;

extern const tern_game connect4;

/* Drops stones in turn into the columns that a string of digits names, such as "3324". Returns
 * false if a column does not exist or is full, or if the game was over; the state then has the
 * stones before that. */
bool connect4_play(connect4_state *state, const char *columns);

#endif
