#ifndef HEAT_HALO_H
#define HEAT_HALO_H

/*
 * The halo: before a step a rank needs the last row of the band above and the first row of the band
 * below. A way to get them is a table of functions, which all ranks call in the same order:
 *
 *     open    once; nothing is sent before all ranks have opened
 *     send    this rank's outer rows, as they are before the step, on their way to its neighbours
 *     wait    until theirs are where b->halo says, and until the step may overwrite its own outer
 *             rows of the state after it, which went out one step earlier
 *     close   once; nothing is under way any more
 *
 * There is no barrier between steps: a rank waits for its neighbours and for nobody else. A
 * neighbour may be one step ahead, never two: for that it needs this rank's rows of the next step.
 * So its next row never comes into a halo that is still being read, and one for each of two states
 * is enough.
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

extern const halo halo_put;  /* puts with notification, into the neighbour's memory */
extern const halo halo_call; /* arguments of calls, got by the neighbour from where they lie */
extern const halo halo_copy; /* arguments of the same calls, copied into them */

#endif
