#ifndef TERN_GAMES_HEX_BOARD_H
#define TERN_GAMES_HEX_BOARD_H

/*
 * Hex. Player 0, black, connects the top with the bottom row, player 1, white, the left with the
 * right column; one of them does in the end. A move is the number of a cell, row * size + column,
 * or size * size: the second player's first move may be to take over the first stone, which becomes
 * theirs at the mirrored place.
 *
 * Bits: a board with a border around it, (size + 2) cells wide, so that no neighbour of a cell lies
 * outside. Cell (row, column) touches (row, column +- 1), (row +- 1, column), (row - 1, column + 1)
 * and (row + 1, column - 1).
 */

#include <stdbool.h>
#include <stdint.h>

enum { HEX_SIZE_MAX = 19, HEX_WORDS = ((HEX_SIZE_MAX + 2) * (HEX_SIZE_MAX + 2) + 63) / 64 };

typedef struct hex_bits {
    uint64_t word[HEX_WORDS];
} hex_bits;

/* What all boards of a size share. */
typedef struct hex_geometry {
    uint32_t size, width, words; /* width: size + 2; words: of the bits that are in use */
    bool swap;                   /* the first stone may be taken over */
    int step[6];                 /* from a cell to its neighbours, in a circle */
    hex_bits cells;              /* all but the border */
    hex_bits border[2];          /* the two sides that each player connects */
    hex_bits goal;               /* the bottom and the right side */
} hex_geometry;

typedef struct hex_board {
    uint64_t key; /* Zobrist's: the exclusive or of a number for each stone, and of the rest */
    uint32_t plies;
    uint32_t player; /* to move */
    hex_bits stones[2];
} hex_board;

static inline bool hex_bit(const hex_bits *bits, uint32_t at) {
    return (bits->word[at / 64] >> (at % 64) & 1) != 0;
}

/* size: 1 to HEX_SIZE_MAX. */
hex_geometry hex_geometry_of(uint32_t size, bool swap);

hex_board hex_board_empty(void);

static inline uint32_t hex_cells(const hex_geometry *g) { return g->size * g->size; }

/* The bit of a cell. */
static inline uint32_t hex_at(const hex_geometry *g, uint32_t cell) {
    return (cell / g->size + 1) * g->width + cell % g->size + 1;
}

/* The player whose stone lies on a cell; -1: it is empty. */
int hex_stone(const hex_geometry *g, const hex_board *b, uint32_t cell);

/* Whether the player to move may take the first stone over: it is not their own. */
bool hex_may_swap(const hex_geometry *g, const hex_board *b);

/* A move that is allowed: of an empty cell, or to take over. */
void hex_play(const hex_geometry *g, hex_board *b, uint32_t move);

/* The same for either player, whoever is to move; then it is the other's turn. */
void hex_put(const hex_geometry *g, hex_board *b, uint32_t player, uint32_t cell);

/* Makes it player's turn. */
void hex_turn(const hex_geometry *g, hex_board *b, uint32_t player);

/* Whether player has connected their sides. */
bool hex_connects(const hex_geometry *g, const hex_board *b, uint32_t player);

/*
 * A walk along the line between black and the rest, from the corner where black's top side meets
 * white's left one, to the first cell of the bottom side (black has connected) or of the right one
 * (they have not). To the one hand lies always black, to the other always not black; the cell ahead
 * is a neighbour of both, and turns the walk.
 */
typedef struct hex_walk {
    uint32_t at;   /* the cell ahead */
    uint32_t turn; /* from the black cell at hand to the other: step[turn] */
} hex_walk;

static inline hex_walk hex_walk_begin(const hex_geometry *g) { return (hex_walk){g->width + 1, 4}; }

static inline void hex_walk_on(const hex_geometry *g, hex_walk *walk, bool black) {
    static const uint8_t next[6][2] = {{1, 5}, {2, 0}, {3, 1}, {4, 2}, {5, 3}, {0, 4}};
    int step = g->step[walk->turn];
    walk->at += (uint32_t)(black ? step : -step);
    walk->turn = next[walk->turn][black];
}

#endif
