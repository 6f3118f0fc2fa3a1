#ifndef TERN_PROGRESS_H
#define TERN_PROGRESS_H

/*
 * Progress: what moves a worker's communication forward. Records are consumed, handlers run and
 * messages of others are served inside tern_progress() and inside every call of tern that waits;
 * tern has no hidden thread unless TERN_SERVICE_THREADS asks for some (tern/context.h). It is never
 * re-entered: a handler must not wait.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Does what there is to do for this worker and returns how many events (records, messages) it
 * handled. In a process with several contexts it does so now and then for the others, too
 * (tern/context.h). Never blocks; after some hundreds of rounds in a row that found nothing it
 * gives the processor up once (sched_yield), for programs with more ranks than cores. Called from a
 * handler it does nothing and returns 0. */
TERN_API size_t tern_progress(tern_worker *worker);

/* A wait of the program's own, for what the calls or puts of other ranks will change. Zero at
 * first, and local to the wait:
 *
 *     tern_await wait = TERN_AWAIT_START;
 *     while (!done && status == TERN_OK)
 *         status = tern_await_round(worker, &wait, tern_progress(worker));
 */
typedef struct tern_await {
    /* For tern alone. */
    uint32_t rounds;     /* in a row that found nothing */
    uint32_t found;      /* rounds that found something */
    bool doomed;         /* the rank waited for was dead at the last look in */
    bool warned;         /* that it lasts long */
    uint64_t looked;     /* when peers were last looked after, ns */
    uint64_t began;      /* when the clock was first looked at, ns */
    uint64_t call;       /* of MPI in which the rank waited for seems stuck, */
    uint64_t call_since; /* and since when; 0: it does not */
    const char *in;      /* what waits; NULL: the function that was last allowed to */
    const char *what;    /* it waits for, in words, or NULL; then the name of that, or NULL */
    const char *name;
    uint64_t number; /* of what it waits for, if there is no name; UINT64_MAX: none */
} tern_await;
#define TERN_AWAIT_START                                                                           \
    { 0, 0, false, false, 0, 0, 0, 0, NULL, NULL, NULL, UINT64_MAX }

/* Call it at the end of each round of such a wait, as every wait of tern does. found: how many
 * things this round has found to do. After rounds that found none it pauses, later it gives the
 * processor up, and it writes a warning if the wait lasts long. TERN_ERR_PEER: a rank of the
 * context has died. What is waited for may still come. Otherwise TERN_OK. Not in a handler. */
TERN_NODISCARD TERN_API tern_status tern_await_round(tern_worker *worker, tern_await *wait,
                                                     size_t found);

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
