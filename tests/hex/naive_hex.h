#ifndef TERN_TESTS_HEX_NAIVE_HEX_H
#define TERN_TESTS_HEX_NAIVE_HEX_H

/* A simple implementation of Hex: an array of cells, searched from neighbour to neighbour. */

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_SIZE_MAX = 19 };

typedef struct naive_hex {
    int size;
    int cell[NAIVE_SIZE_MAX][NAIVE_SIZE_MAX]; /* 0: empty, 1: black, 2: white */
} naive_hex;

/* Returns whether black (0) has connected top and bottom, or white (1) left and right. */
bool naive_hex_connects(const naive_hex *b, int player);

#endif
