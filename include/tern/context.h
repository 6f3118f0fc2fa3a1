#ifndef TERN_CONTEXT_H
#define TERN_CONTEXT_H

/*
 * Context: one use of tern over one communicator. Several may live at once; they share the log
 * level, the MPI lock and progress (below). A context holds workers, the named endpoints of its
 * processes: a thread adopts one and passes it to every operation. (rank, index) names a worker
 * everywhere.
 *
 * Thread rules: a worker is used by one thread at a time, different workers of one process run in
 * parallel. One worker needs MPI_THREAD_SINGLE; more need MPI_THREAD_SERIALIZED. tern makes all its
 * MPI calls under one lock of the process, which an application that calls MPI from another thread
 * takes too (tern_mpi_lock).
 *
 * Several contexts: a library may use tern inside a program that uses tern, each in a context of
 * its own. tern_progress and every wait of a thread, in any context, also make progress in the
 * other contexts of the process: for the workers that this thread has adopted, and for those that
 * no thread has. So a handler of one context may run while its thread waits in another one. Three
 * rules follow. The thread that has adopted a worker is the one that uses it; hand a worker over by
 * tern_worker_release and tern_worker_adopt. A handler must not wait, in whichever context: if its
 * context had its turn in a wait of the other one, what may wait is TERN_ERR_STATE there, and calls
 * that find no room are queued. And collective functions of two contexts come in an order that all
 * their ranks share, as those of two communicators do.
 *
 * Service threads (TERN_SERVICE_THREADS, by default none) are tern's own: they serve other ranks
 * while the application computes, and run what is called on their workers. They need
 * MPI_THREAD_SERIALIZED, and then the application's MPI calls take the lock too, for as short as
 * can be: nobody is served meanwhile. They nap when there is nothing to do, up to a millisecond.
 * They serve calls to the process's containers too (TERN_BY_CALL), all of one caller's process in
 * their order, but for modifiers that are not said to be safe there (tern/hashtable.h).
 * Without service threads calls of containers are for the worker that created these, and wait for
 * its progress.
 */

#include <mpi.h>
#include <stdint.h>

#include "tern/config.h"
#include "tern/status.h"

/* There is one in each build and in each installation; the source tree alone has no MPI. */
#if __has_include("tern/mpi_check.h")
#include "tern/mpi_check.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A context is tern over the ranks of one communicator. A worker is an endpoint in it, of one
 * thread at a time. Their members are tern's own. */
typedef struct tern_context tern_context;
typedef struct tern_worker tern_worker;

/* Names a worker of the job. */
typedef struct tern_worker_id {
    uint32_t rank;
    uint32_t index;
} tern_worker_id;

/* How a rank reaches another. */
typedef enum tern_transport { TERN_SHM, TERN_RMA, TERN_P2P, TERN_OFI, TERN_VERBS } tern_transport;

/* Collective over comm, may block. config NULL means tern_config_init's. tern works on a duplicate
 * of comm and leaves comm, its error handler and MPI's lifetime to the application. Either every
 * rank gets TERN_OK and a context or every rank gets an error: the rank at fault its own, the
 * others one that names that rank. TERN_ERR_STATE: MPI is not running, or its thread level is below
 * what config needs. TERN_ERR_CONFIG: a bad option. TERN_ERR_MISMATCH: ranks disagree on options or
 * registered functions. TERN_ERR_UNSUPPORTED: the transport asked for cannot be had, or the program
 * runs with another MPI than tern was built for. TERN_ERR_MEMORY, _SYSTEM, _MPI. TERN_ERR_PEER: a
 * rank of this machine has died; ranks that were through already may have a context. A rank that
 * has died before it came is noticed after two seconds, where the launcher says that all ranks are
 * on one machine. Over rma a death while MPI makes a window may hang the others. */
TERN_NODISCARD TERN_API tern_status tern_context_create(MPI_Comm comm, const tern_config *config,
                                                        tern_context **context);

/* Collective, may block: finishes every call under way, then frees everything. NULL is fine. After
 * the death of a peer it is local, frees what is local and leaks MPI's objects rather than hang.
 *
 * TERN_ERR_STATE: tables, maps, queues, locks or searches are still there (the detail names them),
 * on every rank alike, or it was called from a handler. TERN_ERR_MISMATCH: the other ranks are in
 * another collective function. After these two the context stays as it was and goes on working,
 * service threads included. After a death nobody is held up by such objects; the memory that they
 * have in the process is then not freed, nor is that of buffers at any time.
 *
 * Must come before MPI_Finalize, which otherwise logs one line, on rank 0. No other thread may be
 * using the context; one that waits in another context is not in the way, but a handler that it
 * runs meanwhile is waited for.
 *
 * Calls that name the context or one of its workers afterwards are TERN_ERR_STATE, as long as no 16
 * other contexts of the process have been destroyed since: until then their structures are kept.
 * Calls that name an object of the context (a table, a buffer, a request) are not caught. */
TERN_NODISCARD TERN_API tern_status tern_context_destroy(tern_context *context);

/* Local, never block, any thread. */
TERN_API uint32_t tern_context_rank(const tern_context *context);
TERN_API uint32_t tern_context_size(const tern_context *context);
TERN_API uint32_t tern_context_workers(const tern_context *context); /* of each process */
/* Whom to call where the process is meant and not one of its workers: the worker of a service
 * thread of rank, always the same one for this process; worker 0 if there are none. */
TERN_API tern_worker_id tern_context_service(const tern_context *context, uint32_t rank);
TERN_API const tern_config *tern_context_config(const tern_context *context);

/* The transport by which this process reaches rank; itself by TERN_SHM. TERN_ERR_ARGUMENT: no such
 * rank. TERN_ERR_STATE: the context has been destroyed. Local. */
TERN_NODISCARD TERN_API tern_status tern_context_transport(const tern_context *context,
                                                           uint32_t rank,
                                                           tern_transport *transport);

/* What a context has found out about the network between its nodes. */
typedef struct tern_network_info {
    char name[32];       /* libfabric's provider, or "verbs" */
    char card[64];       /* this rank's; over verbs with its port */
    int one_sided;       /* 1: a put has landed in a rank that slept outside of any call */
    double put_ns;       /* a put of 8 bytes and its completion, in the mean */
    double message_ns;   /* a message of MPI and its answer, likewise */
    size_t largest;      /* bytes of one operation of the network */
    size_t carried;      /* bytes up to which a write needs no look at its source after the post */
    int registered_only; /* 1: it moves registered memory only */
    int says_ordered; /* 1: it says that writes to one rank arrive in order; tern does not rely on
                         it */
    int says_atomics; /* 1: it says that it has atomics */
    int atomics;      /* 1: they serve TERN_DOMAIN_GLOBAL: TERN_RMA_ATOMICS=network */
} tern_network_info;

/* [out] info: of the network under TERN_OFI and TERN_VERBS. Local, never blocks, any thread.
 * TERN_ERR_UNSUPPORTED: the ranks use shared memory or MPI alone. */
TERN_NODISCARD TERN_API tern_status tern_context_network(const tern_context *context,
                                                         tern_network_info *info);
TERN_API const char *tern_transport_name(tern_transport transport);

/* Looks for ranks that have died and returns the first one that this rank knows of, or
 * TERN_NO_RANK. Within a machine a death is known at once. On other machines it is known when a
 * wait has lasted for TERN_PEER_PATIENCE (docs/deaths.md); to ask again and again, at least once a
 * second, is such a wait. Local, never blocks, any thread; costs some system calls. */
#define TERN_NO_RANK UINT32_MAX
TERN_API uint32_t tern_context_dead(tern_context *context);

/* Takes worker index of this process for the calling thread, whose waits in MPI use it as well if
 * libtern_pmpi is loaded (docs/mpi.md). On a machine with several NUMA nodes, the worker's memory
 * is moved to the one that the thread runs on (tern_worker_numa). TERN_ERR_ARGUMENT: no such index.
 * TERN_ERR_STATE: another owner has it. Local; waits at most while a collective, or a wait in
 * another context, of another thread makes a round of progress for the worker. */
TERN_NODISCARD TERN_API tern_status tern_worker_adopt(tern_context *context, uint32_t index,
                                                      tern_worker **worker);

/* Gives the worker back, for any thread to adopt. Until then, collectives and waits in other
 * contexts make progress for it, in any thread of the process. TERN_ERR_STATE: in a handler, or it
 * has no owner. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_worker_release(tern_worker *worker);

/* The context that a worker belongs to, and the worker's name. Local, never block. */
TERN_API tern_context *tern_worker_context(const tern_worker *worker);
TERN_API tern_worker_id tern_worker_self(const tern_worker *worker);

/* The lock under which tern makes every MPI call of the process. Hold it around MPI calls made by
 * threads other than those that use tern, for as short as can be. Not recursive. */
TERN_API void tern_mpi_lock(void);
TERN_API void tern_mpi_unlock(void);

#ifdef __cplusplus
}
#endif

#endif
