#ifndef TERN_GAMES_HEX_PICTURE_H
#define TERN_GAMES_HEX_PICTURE_H

/* What people see: the board, and what the player thinks. */

#include <stdio.h>

#include "games/hex/record.h"
#include "tern/mcts.h"

/* The board, each row half a cell to the right of the one above it, the last move marked. */
void hex_picture_draw(const hex_record *record, bool colours, FILE *out);

/* The principal variation, on one line. */
void hex_picture_line(const hex_record *record, const tern_search_result *result, FILE *out);

#endif
