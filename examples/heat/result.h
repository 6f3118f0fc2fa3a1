#ifndef HEAT_RESULT_H
#define HEAT_RESULT_H

#include "band.h"

/* Collective. Returns a sum over the bits and the places of all cells: equal sums mean equal
 * plates. */
uint64_t result_checksum(const band *b, int state);

/* Collective. Rank 0 writes the whole plate to path. Returns whether it succeeded. */
bool result_write(const band *b, int state, const char *path);

#endif
