#ifndef TERN_TESTS_HEX_SOLVER_H
#define TERN_TESTS_HEX_SOLVER_H

/*
 * Who wins a position of Hex when both play as well as can be, by trying everything that can make a
 * difference. For small boards; nobody takes over a first stone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Black (0) connects top and bottom, white (1) left and right. Cell (row, column) is the bit
 * row * size + column. */
typedef struct hex_position {
    uint64_t stones[2];
    uint32_t mover;
} hex_position;

enum { SOLVER_SIZE_MAX = 7 };

typedef struct hex_solver hex_solver;

/* positions: how many it remembers, a power of two. NULL: no memory, or a board larger than
 * SOLVER_SIZE_MAX. */
hex_solver *hex_solver_open(uint32_t size, size_t positions);
void hex_solver_close(hex_solver *solver);

bool hex_solver_connects(const hex_solver *solver, uint64_t stones, uint32_t player);

/* Whether who is to move wins. */
bool hex_solver_wins(hex_solver *solver, hex_position position);

/* Bits of the moves by which who is to move wins. */
uint64_t hex_solver_winning_moves(hex_solver *solver, hex_position position);

#endif
