#ifndef TERN_TESTS_HEX_SOLVER_H
#define TERN_TESTS_HEX_SOLVER_H

/*
 * Finds the winner of a position of Hex when both players play perfectly, by trying all moves that
 * can make a difference. For small boards; no first stone is taken over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Black (0) connects top and bottom, white (1) left and right. The bit of cell (row, column) is row
 * * size + column. */
typedef struct hex_position {
    uint64_t stones[2];
    uint32_t mover;
} hex_position;

enum { SOLVER_SIZE_MAX = 7 };

typedef struct hex_solver hex_solver;

/* positions is the number of positions that the solver remembers, a power of two. Returns NULL if
 * there is no memory, or if the board is larger than SOLVER_SIZE_MAX. */
hex_solver *hex_solver_open(uint32_t size, size_t positions);
void hex_solver_close(hex_solver *solver);

bool hex_solver_connects(const hex_solver *solver, uint64_t stones, uint32_t player);

/* Returns whether the player to move wins. */
bool hex_solver_wins(hex_solver *solver, hex_position position);

/* Returns the bits of the moves with which the player to move wins. */
uint64_t hex_solver_winning_moves(hex_solver *solver, hex_position position);

/*
 * naive_hex.c: a simple implementation of Hex: an array of cells, searched from neighbour to
 * neighbour.
 */

enum { NAIVE_SIZE_MAX = 19 };

typedef struct naive_hex {
    int size;
    int cell[NAIVE_SIZE_MAX][NAIVE_SIZE_MAX]; /* 0: empty, 1: black, 2: white */
} naive_hex;

/* Returns whether black (0) has connected top and bottom, or white (1) left and right. */
bool naive_hex_connects(const naive_hex *b, int player);

#endif
