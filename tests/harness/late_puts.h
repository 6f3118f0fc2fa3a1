/*
 * An MPI whose puts arrive as late as the standard allows: what tern_put puts over rma is kept back
 * until a flush. Over other transports nothing is. For one worker a process.
 */

#ifndef TERN_TESTS_HARNESS_LATE_PUTS_H
#define TERN_TESTS_HARNESS_LATE_PUTS_H

#include "fixture.h"

/* Every put is kept back, or, with sometimes, one in two. */
void late_puts_begin(fixture *f, bool sometimes);
/* Collective, with a barrier first. How many puts were kept back. */
uint64_t late_puts_end(fixture *f);

#endif
