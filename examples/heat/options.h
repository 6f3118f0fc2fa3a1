#ifndef HEAT_OPTIONS_H
#define HEAT_OPTIONS_H

#include "halo.h"

typedef struct {
    size_t rows, columns, steps;
    const halo *halo;
    const char *output; /* NULL: none is written */
} options;

/* Collective. The exit status if there is nothing to simulate, else -1; whoever speaks has then
 * said why. [out] o. */
int options_read(int argc, char **argv, bool speaks, options *o);

#endif
