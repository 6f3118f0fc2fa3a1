#ifndef TERN_PROGRESS_H
#define TERN_PROGRESS_H

/*
 * Progress: what moves a worker's communication forward. tern_progress(), and every call of tern
 * that waits, consume records, run handlers and serve messages of others. tern has no hidden thread
 * unless TERN_SERVICE_THREADS asks for some (tern/context.h). Progress is never re-entered: a
 * handler must not wait. tern_mpi_wait and its like make progress while a rank waits for MPI.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles all events (records, messages) that have arrived for this worker, and returns their
 * number. In a process with several contexts it does so now and then for the other contexts, too
 * (tern/context.h). Never blocks; after some hundreds of rounds in a row that found nothing it
 * gives up the processor once (sched_yield), for programs with more ranks than cores. Called from a
 * handler it does nothing and returns 0. */
TERN_API size_t tern_progress(tern_worker *worker);

/* A wait loop of the program itself, for a change that calls or puts of other ranks will make. Use
 * one object for each wait, and start it like this:
 *
 *     tern_await wait = TERN_AWAIT_START;
 *     while (!done && status == TERN_OK)
 *         status = tern_await_round(worker, &wait, tern_progress(worker));
 */
typedef struct tern_await {
    /* For tern alone. */
    uint32_t rounds;     /* in a row that found nothing */
    uint32_t found;      /* rounds that found something */
    bool doomed;         /* at the last check the rank waited for was dead */
    bool warned;         /* a warning was logged that the wait lasts long */
    uint64_t looked;     /* when peers were last looked after, ns */
    uint64_t began;      /* when the clock was first looked at, ns */
    uint64_t call;       /* the MPI call in which the rank waited for seems stuck, */
    uint64_t call_since; /* and since when; 0: it is not stuck */
    const char *in;      /* name of the function that waits; NULL: the last one that was allowed to
                            wait */
    const char *what;    /* what it waits for, in words, or NULL; then the name of that, or NULL */
    const char *name;
    uint64_t number; /* number of what it waits for, if that has no name; UINT64_MAX: none */
} tern_await;
#define TERN_AWAIT_START                                                                           \
    { 0, 0, false, false, 0, 0, 0, 0, NULL, NULL, NULL, UINT64_MAX }

/* Ends a round of such a wait, as every wait of tern does. found: how many
 * events this round has handled. After rounds without events it pauses, later it gives up the
 * processor, and it logs a warning if the wait lasts long. TERN_ERR_PEER: a rank of the context has
 * died, although what the program waits for may still come. Otherwise TERN_OK. Not in a handler. */
TERN_NODISCARD TERN_API tern_status tern_await_round(tern_worker *worker, tern_await *wait,
                                                     size_t found);

/* A hook runs in every progress of every worker of the context and returns how many events it
 * handled. It must be short, must not block, and may run on several threads at once if the context
 * has several workers. */
typedef size_t (*tern_progress_hook)(tern_worker *worker, void *argument);

/* The most hooks of a context. */
#define TERN_PROGRESS_HOOKS 8

/* Adds a hook. TERN_ERR_FULL: the context has TERN_PROGRESS_HOOKS hooks. Not while another thread
 * makes progress. */
TERN_NODISCARD TERN_API tern_status tern_progress_hook_add(tern_context *context,
                                                           tern_progress_hook hook, void *argument);
/* Removes a hook. TERN_ERR_NOT_FOUND: there is no such pair of hook and argument. */
TERN_NODISCARD TERN_API tern_status tern_progress_hook_remove(tern_context *context,
                                                              tern_progress_hook hook,
                                                              void *argument);

/* Waits for an operation of MPI as MPI_Wait does, and makes the worker's progress meanwhile, so
 * that other ranks' calls are served. A rank that waits in MPI_Wait or MPI_Barrier serves nobody,
 * so a rank that needs its service may wait for ever (docs/mpi.md). Programs whose MPI calls cannot
 * be changed use libtern_pmpi instead.
 *
 * request: of any kind, active, inactive or MPI_REQUEST_NULL. [out] status: may be
 * MPI_STATUS_IGNORE; it is set as by MPI_Wait, also where MPI reports an error.
 *
 * It takes the MPI lock for each test, so the caller must not hold that. Blocks; not in handlers.
 * Handlers run meanwhile. Cost: an MPI_Test for each round of progress.
 *
 * TERN_ERR_ARGUMENT: a pointer is NULL. TERN_ERR_STATE: in a handler. TERN_ERR_MPI: MPI reported an
 * error, and its communicator's error handler let it return; the detail is MPI's text.
 * TERN_ERR_PEER: a rank of the worker's context died before MPI was done; MPI goes on by itself,
 * and the request can still be tested and waited for. */
TERN_NODISCARD TERN_API tern_status tern_mpi_wait(tern_worker *worker, MPI_Request *request,
                                                  MPI_Status *status);

/* Waits for several operations of MPI as MPI_Waitall does, with progress. [out] statuses: count
 * statuses, or MPI_STATUSES_IGNORE. If some of the operations failed it returns TERN_ERR_MPI, and
 * the MPI_ERROR of each status says how its operation went. TERN_ERR_ARGUMENT: also a negative
 * count. Cost: an MPI_Testall for each round of progress. Otherwise as tern_mpi_wait. */
TERN_NODISCARD TERN_API tern_status tern_mpi_waitall(tern_worker *worker, int count,
                                                     MPI_Request *requests, MPI_Status *statuses);

#ifdef __cplusplus
}
#endif

#endif
