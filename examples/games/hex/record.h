#ifndef TERN_EXAMPLES_GAMES_HEX_RECORD_H
#define TERN_EXAMPLES_GAMES_HEX_RECORD_H

/* A game in progress: the board, the moves that led to it, and the clocks. */

#include "examples/games/hex/board.h"

enum { HEX_MOVES_MOST = HEX_SIZE_MAX * HEX_SIZE_MAX + 1 };

typedef struct hex_record {
    hex_geometry geometry;
    hex_board board;
    uint32_t count; /* number of moves so far */
    uint32_t move[HEX_MOVES_MOST];
    uint8_t player[HEX_MOVES_MOST];
    bool clock;     /* there is a limit for the whole game */
    double full;    /* seconds that each player has for it */
    double left[2]; /* seconds left on each player's clock */
} hex_record;

/* Begins a game, with the time that was set last. */
void hex_record_clear(hex_record *r);
void hex_record_resize(hex_record *r, uint32_t size, bool swap);

/* Returns NULL, or the reason why player may not play move. */
const char *hex_record_objection(const hex_record *r, uint32_t player, uint32_t move);

/* Plays a move for which hex_record_objection returns NULL. */
void hex_record_play(hex_record *r, uint32_t player, uint32_t move);

/* Takes back the last move. Returns false if no move was made. */
bool hex_record_undo(hex_record *r);

/* Returns the player that has connected its sides, or -1. */
int hex_record_winner(const hex_record *r);

/* Returns the seconds that a move of player may take: usual, or with a clock a share of the time
 * left. */
double hex_record_seconds(const hex_record *r, uint32_t player, double usual);

#endif
