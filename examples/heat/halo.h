#ifndef HEAT_HALO_H
#define HEAT_HALO_H

/*
 * The halo: before a step a rank needs the last row of the band above and the first row of the band
 * below. A way to get them is a table of functions, which all ranks call in the same order:
 *
 *     open    once; no rank sends before all ranks have opened
 *     send    sends this rank's outer rows, as they are before the step, to its neighbours
 *     wait    waits until the neighbours' rows are where b->halo points, and until the step may
 *             overwrite this rank's outer rows of the next state, which were sent one step earlier
 *     close   once; no row is under way any more
 *
 * There is no barrier between steps: a rank waits for its neighbours only. A neighbour may be one
 * step ahead, but not two, since it needs this rank's rows of the next step for that. So its next
 * row never overwrites a halo row that is still being read, and one halo row for each of the two
 * states is enough.
 */

#include "band.h"

typedef struct {
    const char *name;
    size_t rows; /* memory that it needs in the segment, in rows */
    void (*open)(band *b);
    void (*send)(band *b, size_t step);
    void (*wait)(band *b, size_t step);
    void (*close)(band *b);
} halo;

extern const halo halo_put; /* puts with notification, into the neighbour's memory */
extern const halo
    halo_call; /* arguments of calls, which the neighbour gets from the sender's segment */
extern const halo halo_copy; /* arguments of the same calls, copied into the calls */

/* options.c: the command line. */

typedef struct {
    size_t rows, columns, steps;
    const halo *halo;
    const char *output; /* NULL: the grid is not written */
} options;

/* Collective. Returns the exit status if there is nothing to simulate, and then a rank with speaks
 * set has printed why; else -1. [out] o: the options. */
int options_read(int argc, char **argv, bool speaks, options *o);

#endif
