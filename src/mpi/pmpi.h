#ifndef TERN_SRC_MPI_PMPI_H
#define TERN_SRC_MPI_PMPI_H

/*
 * What libtern_pmpi (pmpi/) and libtern know of each other. libtern_pmpi defines MPI's functions,
 * so that waiting in one of them is waiting in tern. libtern looks it up by the name of one
 * function when a context is created, and hands it this table: so it serves programs that are
 * linked with the shared libtern and with the static one, and neither library needs the other to be
 * linked.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/progress/wait.h"
#include "tern/version.h"

typedef struct tern_pmpi_host {
    /* Changes whenever a context of this process begins or ends, or a worker changes hands. */
    _Atomic uint64_t *changes;
    /* Takes the MPI lock if threads of this process need it and the caller has not got it. Returns
     * whether it took it. */
    bool (*lock)(void);
    void (*unlock)(void);
    /* After a look at MPI that found nothing: progress of the calling thread's workers, if none of
     * them runs a handler, and a pause as in every wait. Gives the MPI lock back meanwhile. */
    void (*step)(tern_wait_state *wait);
    /* Whether all members of the group are ranks of one live context. The MPI lock is held. */
    bool (*covers)(MPI_Group group);
} tern_pmpi_host;

#ifdef OPEN_MPI
#define TERN_PMPI_VERSION TERN_VERSION_STRING " for Open MPI"
#else
#define TERN_PMPI_VERSION TERN_VERSION_STRING " for MPICH"
#endif

/* Defined by libtern_pmpi: its TERN_PMPI_VERSION, and what it is told when the first context of the
 * process begins (the host) and when the last one ends (NULL). */
const char *tern_pmpi_version(void);
void tern_pmpi_attach(const tern_pmpi_host *host);

/* The rest is libtern's. Whether libtern_pmpi is loaded and of the same version; warns if it is of
 * another one. */
bool tern_pmpi_is_here(void);

/* The context's part of this process begins: from now on its workers serve in waits of MPI, and
 * communicators of its ranks qualify. Nothing if not context->pmpi. */
void tern_pmpi_begin(tern_context *context);
void tern_pmpi_end(tern_context *context);

/* What names the calling thread as the owner of workers. */
const void *tern_pmpi_thread(void);

/* The calling thread, which has adopted the worker, is its owner. */
void tern_pmpi_adopt(tern_worker *worker);

/* It has no owner any more. False: it had none, or another thread is just releasing it. */
bool tern_pmpi_release(tern_worker *worker);

#endif
