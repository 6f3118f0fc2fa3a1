#ifndef HEAT_RESULT_H
#define HEAT_RESULT_H

#include "band.h"

/* Collective. A sum over all cells of their bits and their place: equal sums, equal plates. */
uint64_t result_checksum(const band *b, int state);

/* Collective. Rank 0 writes the whole plate to path. Whether it could. */
bool result_write(const band *b, int state, const char *path);

#endif
