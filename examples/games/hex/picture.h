#ifndef TERN_EXAMPLES_GAMES_HEX_PICTURE_H
#define TERN_EXAMPLES_GAMES_HEX_PICTURE_H

/* Draws what people see: the board, and what the engine thinks. */

#include <stdio.h>

#include "examples/games/hex/record.h"
#include "tern/mcts.h"

/* Draws the board, each row half a cell to the right of the row above, with the last move
 * marked. */
void hex_picture_draw(const hex_record *record, bool colours, FILE *out);

/* Prints the principal variation on one line. */
void hex_picture_line(const hex_record *record, const tern_search_result *result, FILE *out);

#endif
