#ifndef TERN_EXAMPLES_GAMES_HEX_NOTATION_H
#define TERN_EXAMPLES_GAMES_HEX_NOTATION_H

/* Reads and writes moves, players and numbers. A move is written as the letter of its column and
 * the number of its row from the top, as in c3, or as swap-pieces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "examples/games/hex/board.h"
#include "examples/games/hex/record.h"
#include "tern/mcts.h"

/* Size of the longest name with its final 0. */
enum { HEX_NAME = 12 };

/* Writes a move to name, and returns name. */
const char *hex_move_name(const hex_geometry *g, uint32_t move, char name[HEX_NAME]);

/* [out] move: the move that text names, in letters of either case. Returns false if text names
 * neither a cell of the board nor a takeover. */
bool hex_move_parse(const hex_geometry *g, const char *text, uint32_t *move);

/* Returns 0 for black, b and red, 1 for white, w and blue, in letters of either case, and -1
 * otherwise. */
int hex_player_parse(const char *text);

/* [out] value: the decimal number in text. Returns false if it is not a number from least to
 * most. */
bool hex_number_parse(const char *text, double least, double most, double *value);

extern const char *const hex_player_name[2];

/* picture.c: draws what people see: the board, and what the engine thinks. */

/* Draws the board, each row half a cell to the right of the row above, with the last move
 * marked. */
void hex_picture_draw(const hex_record *record, bool colours, FILE *out);

/* Prints the principal variation on one line. */
void hex_picture_line(const hex_record *record, const tern_search_result *result, FILE *out);

#endif
