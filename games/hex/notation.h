#ifndef TERN_GAMES_HEX_NOTATION_H
#define TERN_GAMES_HEX_NOTATION_H

/* How moves are written: the column's letter and the row's number from the top, as in c3, or
 * swap-pieces. And players, and numbers. */

#include <stdbool.h>
#include <stddef.h>

#include "games/hex/board.h"

/* The longest, and its end. */
enum { HEX_NAME = 12 };

/* Writes a move to name, which is returned. */
const char *hex_move_name(const hex_geometry *g, uint32_t move, char name[HEX_NAME]);

/* [out] move: what text says, in letters of either case. Returns false if it is no cell of the
 * board, and not the taking over. */
bool hex_move_parse(const hex_geometry *g, const char *text, uint32_t *move);

/* 0: black, b, red; 1: white, w, blue, in letters of either case; else -1. */
int hex_player_parse(const char *text);

/* [out] value: a decimal number from least to most; else returns false. */
bool hex_number_parse(const char *text, double least, double most, double *value);

extern const char *const hex_player_name[2];

#endif
