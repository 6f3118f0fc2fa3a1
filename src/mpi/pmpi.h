#ifndef TERN_SRC_MPI_PMPI_H
#define TERN_SRC_MPI_PMPI_H

/*
 * The interface between libtern_pmpi (pmpi/) and libtern. libtern_pmpi defines MPI's functions, so
 * that a wait in one of them makes tern's progress. When a context is created libtern looks
 * libtern_pmpi up by the name of one function, and gives it this table. So libtern_pmpi serves
 * programs linked with the shared libtern and with the static one, and neither library needs to be
 * linked with the other.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/progress/wait.h"
#include "tern/config.h"

typedef struct tern_pmpi_host {
    /* Changes whenever a context of this process begins or ends, or a worker changes hands. */
    _Atomic uint64_t *changes;
    /* Takes the MPI lock if threads of this process need it and the caller does not hold it.
     * Returns whether it took the lock. */
    bool (*lock)(void);
    void (*unlock)(void);
    /* Called after a test of MPI that found nothing: makes progress for the calling thread's
     * workers, if none of them runs a handler, and pauses as every wait does. Gives the MPI lock
     * back meanwhile. */
    void (*step)(tern_wait_state *wait);
    /* Whether all members of the group are ranks of one live context. The caller holds the MPI
     * lock. */
    bool (*covers)(MPI_Group group);
} tern_pmpi_host;

#ifdef OPEN_MPI
#define TERN_PMPI_VERSION TERN_VERSION_STRING " for Open MPI"
#else
#define TERN_PMPI_VERSION TERN_VERSION_STRING " for MPICH"
#endif

/* libtern_pmpi defines these two. The first returns its TERN_PMPI_VERSION. libtern calls the second
 * when the first context of the process begins (with the host) and when the last one ends (with
 * NULL). */
const char *tern_pmpi_version(void);
void tern_pmpi_attach(const tern_pmpi_host *host);

/* libtern defines the rest. Returns whether libtern_pmpi is loaded and has the same version; warns
 * if it has another. */
bool tern_pmpi_is_loaded(void);

/* Called when a context begins in this process. From now on its workers make progress in waits of
 * MPI, and waits on communicators of its ranks count. Does nothing unless context->pmpi. */
void tern_pmpi_begin(tern_context *context);
void tern_pmpi_end(tern_context *context);

/* An address that names the calling thread as the owner of workers. */
const void *tern_pmpi_thread(void);

/* Makes the calling thread, which has adopted the worker, its owner. */
void tern_pmpi_adopt(tern_worker *worker);

/* Takes the owner away. False: the worker had no owner, or another thread is just releasing it. */
bool tern_pmpi_release(tern_worker *worker);

#endif
