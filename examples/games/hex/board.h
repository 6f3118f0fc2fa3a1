#ifndef TERN_EXAMPLES_GAMES_HEX_BOARD_H
#define TERN_EXAMPLES_GAMES_HEX_BOARD_H

/*
 * Hex. Player 0, black, connects the top row with the bottom row; player 1, white, connects the
 * left column with the right column. Exactly one of them succeeds in the end. A move is the number
 * of a cell, row * size + column, or size * size. With that number the second player's first move
 * takes over the first stone: it becomes a stone of the second player at the mirrored cell.
 *
 * Bits represent a board with a border around it, which is (size + 2) cells wide, so that each cell
 * has all its neighbours. Cell (row, column) touches
 *
 *     (row, column +- 1), (row +- 1, column), (row - 1, column + 1) and (row + 1, column - 1)
 */

#include <stdbool.h>
#include <stdint.h>

enum { HEX_SIZE_MAX = 19, HEX_WORDS = ((HEX_SIZE_MAX + 2) * (HEX_SIZE_MAX + 2) + 63) / 64 };

typedef struct hex_bits {
    uint64_t word[HEX_WORDS];
} hex_bits;

/* What all boards of one size have in common. */
typedef struct hex_geometry {
    uint32_t size, width, words; /* width: size + 2; words: number of words of the bits in use */
    bool swap;                   /* the first stone may be taken over */
    int step[6];                 /* from a cell to its neighbours, in circular order */
    hex_bits cells;              /* all cells without the border */
    hex_bits border[2];          /* by player: the two sides that the player connects */
    hex_bits goal;               /* the bottom side and the right side */
} hex_geometry;

typedef struct hex_board {
    uint64_t key; /* Zobrist hash: exclusive or of the numbers that board.c defines */
    uint32_t plies;
    uint32_t player; /* the player to move */
    hex_bits stones[2];
} hex_board;

static inline bool hex_bit(const hex_bits *bits, uint32_t at) {
    return (bits->word[at / 64] >> (at % 64) & 1) != 0;
}

/* size is 1 to HEX_SIZE_MAX. */
hex_geometry hex_geometry_of(uint32_t size, bool swap);

hex_board hex_board_empty(void);

static inline uint32_t hex_cells(const hex_geometry *g) { return g->size * g->size; }

/* Returns the bit of a cell. */
static inline uint32_t hex_at(const hex_geometry *g, uint32_t cell) {
    return (cell / g->size + 1) * g->width + cell % g->size + 1;
}

/* Returns the player whose stone lies on a cell, or -1 if the cell is empty. */
int hex_stone(const hex_geometry *g, const hex_board *b, uint32_t cell);

/* Returns whether the player to move may take over the first stone, which must be the other
 * player's. */
bool hex_may_swap(const hex_geometry *g, const hex_board *b);

/* Plays a move, which must be allowed: on an empty cell, or a takeover. */
void hex_play(const hex_geometry *g, hex_board *b, uint32_t move);

/* Puts a stone of either player on an empty cell, also out of turn. The other player moves next. */
void hex_put(const hex_geometry *g, hex_board *b, uint32_t player, uint32_t cell);

/* Makes player the player to move. */
void hex_turn(const hex_geometry *g, hex_board *b, uint32_t player);

/* Returns whether player has connected their sides. */
bool hex_connects(const hex_geometry *g, const hex_board *b, uint32_t player);

/*
 * A walk along the border between black and all else. It begins at the corner where black's top
 * side meets white's left side. It ends at the first cell of the bottom side (black has connected)
 * or of the right side (black has not). During the walk one hand always touches a black cell, and
 * the other hand a cell that is not black. The cell ahead is a neighbour of both, and its colour
 * decides how the walk turns.
 */
typedef struct hex_walk {
    uint32_t at;   /* the cell ahead */
    uint32_t turn; /* step[turn] leads from the black cell at hand to the other one */
} hex_walk;

static inline hex_walk hex_walk_begin(const hex_geometry *g) { return (hex_walk){g->width + 1, 4}; }

static inline void hex_walk_on(const hex_geometry *g, hex_walk *walk, bool black) {
    static const uint8_t next[6][2] = {{1, 5}, {2, 0}, {3, 1}, {4, 2}, {5, 3}, {0, 4}};
    int step = g->step[walk->turn];
    walk->at += (uint32_t)(black ? step : -step);
    walk->turn = next[walk->turn][black];
}

#endif
