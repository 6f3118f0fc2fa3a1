#ifndef TERN_SRC_COLLECTIVE_PHASE_H
#define TERN_SRC_COLLECTIVE_PHASE_H

/*
 * Phases: tern_barrier ends one (tern/flags.h). What an object left undone because a promise
 * allowed it is done then, by its hook, before anybody leaves the barrier.
 */

#include "src/context.h"

/* Collective objects add and remove their hooks, in calls that no barrier runs beside. */
void tern_phase_add(tern_context *context, tern_phase_hook *hook);
/* A hook that was never added is fine. */
void tern_phase_remove(tern_context *context, tern_phase_hook *hook);

/* Runs all hooks; the first failure. Puts and atomics they make are complete with the barrier. */
tern_status tern_phase_end(tern_worker *worker);

#endif
