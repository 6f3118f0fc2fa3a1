/*
 * Known results on small boards of Hex, for tests of the solver and of the search. Rows are listed
 * from the top. B and W are stones. Black is to move; x marks a move with which black wins, and all
 * other moves lose. A dot is another empty cell. No stone is taken over.
 */

#ifndef TERN_TESTS_HEX_KNOWN_H
#define TERN_TESTS_HEX_KNOWN_H

#include "solver.h"

typedef struct known_position {
    const char *name;
    uint32_t size;
    const char *cells;
} known_position;

/* The openings with which black wins: 1, 2, 5 and 4 of them. */
static const known_position known_openings[] = {
    {"1x1", 1, "x"},
    {"2x2", 2,
     ".x"
     "x."},
    {"3x3", 3,
     "..x"
     "xxx"
     "x.."},
    {"4x4", 4,
     "...x"
     "..x."
     ".x.."
     "x..."},
};

static const known_position known_positions[] = {
    {"a bridge was intruded upon, and is to be saved", 5,
     "W.B.W"
     "..B.W"
     ".Wx.W"
     "WB..."
     "WBW.."},
    {"two bridges on the way to the bottom", 5,
     "WWB.W"
     "W.B.W"
     "WB.xW"
     "BW..B"
     "W...."},
    {"a ladder along the bottom with a stone to run to", 6,
     "BWWWWW"
     "BWWWWW"
     "BWWWWW"
     "BWWWWW"
     "Bx...."
     "W....B"},
    {"the same ladder without", 6,
     "BWWWWW"
     "BWWWWW"
     "BWWWWW"
     "BWWWWW"
     "B....."
     "W....."},
    {"a ladder that a white stone stops", 6,
     "BWWWWW"
     "BWWWWW"
     "BWWWWW"
     "BWWWWW"
     "B...W."
     "W....B"},
};

enum {
    KNOWN_OPENINGS = sizeof known_openings / sizeof *known_openings,
    KNOWN_POSITIONS = sizeof known_positions / sizeof *known_positions
};

/* Returns the position. [out] winning: bits of the cells with x. */
static inline hex_position known_read(const known_position *k, uint64_t *winning) {
    hex_position p = {{0, 0}, 0};
    *winning = 0;
    for (uint32_t cell = 0; cell < k->size * k->size; cell++) {
        uint64_t bit = UINT64_C(1) << cell;
        p.stones[0] |= k->cells[cell] == 'B' ? bit : 0;
        p.stones[1] |= k->cells[cell] == 'W' ? bit : 0;
        *winning |= k->cells[cell] == 'x' ? bit : 0;
    }
    return p;
}

#endif
