#ifndef TERN_PROGRESS_H
#define TERN_PROGRESS_H

/*
 * Progress: what moves a worker's communication forward. Records are consumed, handlers run and
 * messages of others are served inside tern_progress() and inside every call of tern that waits;
 * tern has no hidden thread unless TERN_SERVICE_THREADS asks for some (tern/context.h). It is never
 * re-entered: a handler must not wait.
 */

#include <stddef.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Does what there is to do for this worker and returns how many events (records, messages) it
 * handled. Never blocks; after some hundreds of rounds in a row that found nothing it gives the
 * processor up once (sched_yield), for programs with more ranks than cores. Called from a handler
 * it does nothing and returns 0. */
TERN_API size_t tern_progress(tern_worker *worker);

/* A hook runs in every progress of every worker of the context and returns how many events it
 * handled. It must be short, must not block, and may run on several threads at once if the context
 * has several workers. */
typedef size_t (*tern_progress_hook)(tern_worker *worker, void *argument);

/* TERN_ERR_FULL: more than TERN_PROGRESS_HOOKS. Not while another thread makes progress. */
#define TERN_PROGRESS_HOOKS 8
TERN_NODISCARD TERN_API tern_status tern_progress_hook_add(tern_context *context,
                                                           tern_progress_hook hook, void *argument);
/* TERN_ERR_NOT_FOUND: no such pair of hook and argument. */
TERN_NODISCARD TERN_API tern_status tern_progress_hook_remove(tern_context *context,
                                                              tern_progress_hook hook,
                                                              void *argument);

#ifdef __cplusplus
}
#endif

#endif
