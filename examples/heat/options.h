#ifndef HEAT_OPTIONS_H
#define HEAT_OPTIONS_H

#include "halo.h"

typedef struct {
    size_t rows, columns, steps;
    const halo *halo;
    const char *output; /* NULL: the grid is not written */
} options;

/* Collective. Returns the exit status if there is nothing to simulate, and then a rank with speaks
 * set has printed why; else -1. [out] o: the options. */
int options_read(int argc, char **argv, bool speaks, options *o);

#endif
