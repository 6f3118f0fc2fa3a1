/*
 * An MPI whose puts arrive as late as the standard allows: it keeps back what tern_put puts over
 * rma until a flush, and keeps back nothing over other transports. For one worker of each process.
 */

#ifndef TERN_TESTS_HARNESS_LATE_PUTS_H
#define TERN_TESTS_HARNESS_LATE_PUTS_H

#include "fixture.h"

/* Begins to keep back every put or, with sometimes, one in two. */
void late_puts_begin(fixture *f, bool sometimes);
/* Ends that, after a barrier; collective. Returns how many puts were kept back. */
uint64_t late_puts_end(fixture *f);

#endif
