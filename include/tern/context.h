#ifndef TERN_CONTEXT_H
#define TERN_CONTEXT_H

/*
 * Context: one use of tern over one communicator. A process may have several contexts at once; they
 * share the log level, the MPI lock and progress (below). A context holds workers, the endpoints of
 * its processes: a thread adopts one and passes it to every operation. The pair (rank, index) names
 * a worker on every rank.
 *
 * Thread rules: one thread at a time uses a worker; different workers of one process run in
 * parallel. One worker needs MPI_THREAD_SINGLE; more need MPI_THREAD_SERIALIZED. tern makes all its
 * MPI calls under one lock of the process. An application that calls MPI from another thread must
 * take this lock, too (tern_mpi_lock).
 *
 * Several contexts: a library may use tern inside a program that uses tern, each in a context of
 * its own. tern_progress and every wait of a thread, in any context, also make progress in the
 * other contexts of the process: for the workers that this thread has adopted, and for those that
 * no thread has. So a handler of one context may run while its thread waits in another one. Three
 * rules follow. First, only the thread that has adopted a worker uses it; to hand a worker over,
 * call tern_worker_release and tern_worker_adopt. Second, a handler must not wait, in any context:
 * in a handler that runs during a wait in another context, functions that may wait return
 * TERN_ERR_STATE, and calls that find no room are queued. Third, all ranks call the collective
 * functions of two contexts in the same order, as they do with those of two communicators.
 *
 * Service threads (TERN_SERVICE_THREADS, by default none) are tern's own: they serve other ranks
 * while the application computes, and run what is called on their workers. They need
 * MPI_THREAD_SERIALIZED, and the application must then take the MPI lock around its own MPI calls,
 * for as short as it can: service threads serve nobody while it is taken. A service thread with
 * nothing to do sleeps, up to a millisecond. Service threads also run calls to the process's
 * containers (TERN_BY_CALL), those of one calling process in their order; the exception are
 * modifiers that were not registered for any thread (tern/hashtable.h). Without service threads,
 * calls to a container go to the worker that created it, and wait for its progress.
 */

#include <mpi.h>
#include <stdint.h>

#include "tern/config.h"
#include "tern/status.h"

/* Each build and each installation has this file; the source tree does not, since it is for no
 * particular MPI. */
#if __has_include("tern/mpi_check.h")
#include "tern/mpi_check.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A context is tern over the ranks of one communicator. A worker is an endpoint in it, which one
 * thread at a time uses. Their members are tern's own. */
typedef struct tern_context tern_context;
typedef struct tern_worker tern_worker;

/* Names a worker of the job. */
typedef struct tern_worker_id {
    uint32_t rank;
    uint32_t index;
} tern_worker_id;

/* How a rank reaches another. */
typedef enum tern_transport { TERN_SHM, TERN_RMA, TERN_P2P, TERN_OFI, TERN_VERBS } tern_transport;

/* Creates a context. Collective over comm, may block. config NULL: the options of tern_config_init.
 * tern works on a duplicate of comm; comm, its error handler, and starting and ending MPI stay with
 * the application. Either every rank gets TERN_OK and a context, or every rank gets an error: the
 * rank that failed gets its own, and the others get one that names that rank. TERN_ERR_STATE: MPI
 * is not running, or its thread level is below what config needs. TERN_ERR_CONFIG: a bad option.
 * TERN_ERR_MISMATCH: ranks disagree on options or registered functions. TERN_ERR_UNSUPPORTED: the
 * transport that config asks for is not available, or the program runs with another MPI than tern
 * was built for. TERN_ERR_MEMORY, _SYSTEM, _MPI. TERN_ERR_PEER: a rank of this machine has died;
 * ranks that had returned before may have a context. If a rank died before it called this function,
 * the others notice that after two seconds, provided that the launcher says that all ranks are on
 * one machine. Over rma, a death while MPI makes a window may hang the others. */
TERN_NODISCARD TERN_API tern_status tern_context_create(MPI_Comm comm, const tern_config *config,
                                                        tern_context **context);

/** Creates a context as tern_context_create does, for languages other than C and C++: from a
 * communicator that is a number. MPI's bindings for Fortran and for Python give that number. All
 * other functions of tern can be called as they are, since each inline function of the headers has
 * a copy in the library under its own name. docs/languages.md shows the module for Fortran and the
 * package for Python.
 *
 * @param comm the communicator in Fortran's form: MPI_VAL of a type(MPI_Comm), or py2f() of mpi4py
 * @param options values for options, such as "TERN_WORKERS=2 TERN_SEGMENT_SIZE=1G", which take
 *     precedence over the environment; NULL or an empty text: none
 * @param[out] context the context; the caller destroys it with tern_context_destroy
 * @return the statuses of tern_context_create; TERN_ERR_CONFIG if options has an entry that is not
 *     NAME=VALUE, or a name or value that tern_config_set refuses
 *
 * Blocking: collective over the ranks of comm; may block. */
TERN_NODISCARD TERN_API tern_status tern_context_create_f(MPI_Fint comm, const char *options,
                                                          tern_context **context);

/** Returns MPI_COMM_WORLD in Fortran's form. MPI must have been started. Local, any thread. */
TERN_API MPI_Fint tern_comm_world_f(void);

/* Destroys a context. Collective, may block: finishes every call under way, then frees everything.
 * NULL is fine. After the death of a peer it is local: it frees local memory and leaks MPI's
 * objects, since freeing those could hang.
 *
 * TERN_ERR_STATE: tables, maps, queues, locks or searches are still there (the detail names them),
 * on every rank alike, or it was called from a handler. TERN_ERR_MISMATCH: the other ranks are in
 * another collective function. After these two errors the context stays as it was and goes on
 * working, service threads included. After a death such objects do not keep the context from being
 * destroyed; their memory in the process is then not freed. The memory of buffers is never freed
 * here.
 *
 * Call it before MPI_Finalize; otherwise rank 0 logs one line. No other thread may use the context
 * meanwhile. A thread that waits in another context may go on, but this function waits for a
 * handler that such a thread runs.
 *
 * A later call with this context or one of its workers returns TERN_ERR_STATE, because tern keeps
 * the structures of the last 16 destroyed contexts of the process; after that such a call is
 * undefined. tern does not catch calls with an object of the context (a table, a buffer, a
 * request). */
TERN_NODISCARD TERN_API tern_status tern_context_destroy(tern_context *context);

/* Returns the calling rank. Local, never blocks, any thread. */
TERN_API uint32_t tern_context_rank(const tern_context *context);

/* Returns the number of ranks. Local, never blocks, any thread. */
TERN_API uint32_t tern_context_size(const tern_context *context);

/* Returns the number of workers of each process, without those of service threads. Local, never
 * blocks, any thread. */
TERN_API uint32_t tern_context_workers(const tern_context *context);

/* Returns the worker to call if any worker of rank's process will do: the worker of one of its
 * service threads, always the same one for this process; worker 0 if there are no service threads.
 * Local, never blocks, any thread. */
TERN_API tern_worker_id tern_context_service(const tern_context *context, uint32_t rank);

/* Returns the options that the context was created with. They stay tern's and are valid until the
 * context is destroyed. Local, never blocks, any thread. */
TERN_API const tern_config *tern_context_config(const tern_context *context);

/* Says how a rank is reached. [out] transport: the transport by which this process reaches rank;
 * TERN_SHM for itself. TERN_ERR_ARGUMENT: no such rank. TERN_ERR_STATE: the context has been
 * destroyed. Local. */
TERN_NODISCARD TERN_API tern_status tern_context_transport(const tern_context *context,
                                                           uint32_t rank,
                                                           tern_transport *transport);

/* What a context has found out about the network between its nodes. */
typedef struct tern_network_info {
    char name[32];       /* libfabric's provider, or "verbs" */
    char card[64];       /* this rank's; over verbs with its port */
    int one_sided;       /* 1: a test put arrived at a rank that slept outside of any call */
    double put_ns;       /* mean time of a put of 8 bytes and its completion */
    double message_ns;   /* mean time of a message of MPI and its answer */
    size_t largest;      /* most bytes of one operation of the network */
    size_t carried;      /* most bytes of a write whose source is free once it is posted */
    int registered_only; /* 1: the network moves registered memory only */
    int says_ordered; /* 1: the network says that writes to one rank arrive in order; tern does not
                         rely on that */
    int says_atomics; /* 1: the network says that it has atomics */
    int atomics;      /* 1: tern uses them for TERN_DOMAIN_GLOBAL (TERN_RMA_ATOMICS) */
} tern_network_info;

/* Describes the network between the nodes. [out] info: about the network that TERN_OFI and
 * TERN_VERBS use. Local, never blocks, any thread. TERN_ERR_UNSUPPORTED: the ranks use only shared
 * memory or MPI. */
TERN_NODISCARD TERN_API tern_status tern_context_network(const tern_context *context,
                                                         tern_network_info *info);

/* Returns the name of a transport, such as "shm", or "none" if there is no such transport. */
TERN_API const char *tern_transport_name(tern_transport transport);

/* The rank that is returned where no rank is meant. */
#define TERN_NO_RANK UINT32_MAX

/* Looks for ranks that have died and returns the first one that this rank knows of, or
 * TERN_NO_RANK. A death on this machine is known at once. A death on another machine is known when
 * a wait has lasted for TERN_PEER_PATIENCE (docs/deaths.md); calling this function again and again,
 * at least once a second, counts as such a wait. Local, never blocks, any thread; costs some system
 * calls. */
TERN_API uint32_t tern_context_dead(tern_context *context);

/* Gives worker index of this process to the calling thread. If libtern_pmpi is loaded, the thread's
 * waits in MPI make progress for the worker, too (docs/mpi.md). On a machine with several NUMA
 * nodes, the worker's memory is moved to the node that the thread runs on (tern_worker_numa).
 * TERN_ERR_ARGUMENT: no such index. TERN_ERR_STATE: another thread has adopted it. Local; waits at
 * most until another thread, in a collective or in a wait of another context, has ended a round of
 * progress for the worker. */
TERN_NODISCARD TERN_API tern_status tern_worker_adopt(tern_context *context, uint32_t index,
                                                      tern_worker **worker);

/* Gives the worker back, so that any thread can adopt it. Until one does, collectives and waits in
 * other contexts make progress for the worker, in any thread of the process. TERN_ERR_STATE: in a
 * handler, or no thread has adopted the worker. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_worker_release(tern_worker *worker);

/* Returns the context that a worker belongs to. Local, never blocks. */
TERN_API tern_context *tern_worker_context(const tern_worker *worker);

/* Returns the name of a worker. Local, never blocks. */
TERN_API tern_worker_id tern_worker_self(const tern_worker *worker);

/* Takes the lock under which tern makes every MPI call of the process. A thread that does not use
 * tern must hold it around its MPI calls, for as short as it can. Not recursive. */
TERN_API void tern_mpi_lock(void);

/* Gives the MPI lock back. */
TERN_API void tern_mpi_unlock(void);

#ifdef __cplusplus
}
#endif

#endif
