#ifndef TERN_SRC_CONTEXT_H
#define TERN_SRC_CONTEXT_H

/* The structures of contexts and workers. */

#include <stdatomic.h>
#include <stdbool.h>

#include "src/peer.h"
#include "src/text.h"
#include "tern/context.h"
#include "tern/message.h"
#include "tern/progress.h"
#include "tern/stats.h"
#include "tern/transfer.h"

/*
 * Layers: how higher folders take part in the life of a context without src/ knowing them.
 * path/init.c, which knows them all, hands the table of layers to tern_context_open.
 */

/* Slots for the state of each layer in contexts and workers. */
enum {
    TERN_LAYER_RMA,
    TERN_LAYER_NOTIFY,
    TERN_LAYER_TEAM,
    TERN_LAYER_RPC,
    TERN_LAYER_PATH,
    TERN_LAYER_SLOTS
};

typedef struct tern_layer {
    const char *name;
    /* Collective; on an error undoes what it did. After each layer's open all ranks agree on its
     * status: if it failed on some rank, close runs on the others. */
    tern_status (*open)(tern_context *context);
    /* Collective: finishes what is under way. NULL: nothing to finish. */
    tern_status (*drain)(tern_context *context, tern_worker *worker);
    /* Local; it may be collective where MPI requires that, but only if every peer is alive. */
    void (*close)(tern_context *context);
    /* Called when the calling thread has taken the worker. NULL: nothing to do. */
    void (*adopt)(tern_worker *worker);
    /* The layer's part of progress; returns how many events it handled. NULL: nothing to do. */
    size_t (*progress)(tern_worker *worker);
    /* For the warning of a long wait, in the worker's own thread: appends what the worker has taken
     * from the program and not sent yet, and to whom. NULL: it sends everything at once. */
    void (*name_unsent)(tern_worker *worker, tern_text *text);
    /* The part of progress that neither waits nor runs handlers, for waits during which no handler
     * may run. It serves other ranks that wait in any context. NULL: nothing to do. */
    size_t (*serve)(tern_worker *worker);
    /* Whether something that the program gave to the worker for rank (TERN_ANYBODY: for any rank)
     * has not been sent. Returns such a rank, or TERN_NOBODY. NULL: the layer sends everything at
     * once. */
    uint32_t (*unsent)(const tern_worker *worker, uint32_t rank);
} tern_layer;

typedef struct tern_hook {
    tern_progress_hook run;
    void *argument;
} tern_hook;

/* A function that runs in the waits of collectives, in addition to progress. */
typedef struct tern_meanwhile {
    void (*run)(void *argument);
    void *argument;
} tern_meanwhile;

/* Part of an object: runs when a phase ends (src/collective/phase.c). */
typedef struct tern_phase_hook {
    struct tern_phase_hook *next;
    tern_status (*run)(tern_worker *worker, struct tern_phase_hook *hook);
} tern_phase_hook;

enum { TERN_CALLEE_ROWS = 64 };
typedef struct tern_callee tern_callee; /* an object to which calls go (src/collective/callee.h) */
typedef struct tern_object
    tern_object; /* to be destroyed before the context (src/collective/object.h) */
typedef struct tern_meeting
    tern_meeting; /* of all ranks, in shared memory (src/collective/meeting.h) */
typedef struct tern_activity tern_activity; /* of a rank, in shared memory (src/peers/activity.h) */

typedef struct tern_task
    tern_task; /* work of the process in several rounds (src/progress/task.h) */

struct tern_context {
    MPI_Comm comm; /* tern's own duplicate, whose errors return; before it is made, the
                      application's */
    uint32_t rank, size;
    uint32_t workers;      /* workers of each process: first the application's, then those of
                              service threads */
    uint32_t workers_kept; /* of a destroyed context (src/destroyed.c) */
    tern_config config;
    uint32_t *node; /* by rank: number of its node, virtual or real; ranks of a node share memory */
    uint32_t nodes;
    uint64_t nonce;  /* random, the same on all ranks */
    uint32_t number; /* of the contexts that this process has created, from 1 */
    tern_peers peers;
    /* Returns the activity line of a rank, or NULL if the rank shares no memory. The pointer itself
     * is NULL while the rma layer is not open. */
    tern_activity *(*activity)(const tern_context *context, uint32_t rank);
    char *collective_buffer; /* src/collective/collective_buffer.h; NULL: left to MPI */
    size_t collective_buffer_bytes;
    tern_meanwhile meanwhile;             /* run NULL: nothing */
    tern_meeting *meeting;                /* NULL: not all ranks share memory */
    _Atomic uint64_t meetings;            /* meetings that have ended, the same on every rank */
    _Atomic(tern_worker *) meets;         /* the worker whose collective has begun to meet */
    tern_worker **worker;                 /* by index, and one more for threads without a worker */
    struct tern_service_threads *service; /* NULL: none are running */
    tern_hook hook[TERN_PROGRESS_HOOKS];
    size_t hooks;
    _Atomic(tern_task *) tasks;
    atomic_flag tasks_busy; /* tasks are being run or changed */
    tern_phase_hook *phase_hooks;
    tern_object *objects; /* in the order of their creation */
    tern_object *left;    /* objects whose creation a death has ended, kept for calls of other ranks
                           */
    _Atomic(tern_callee *) callees[TERN_CALLEE_ROWS];
    int finalize_key;     /* attribute on MPI_COMM_SELF that tells of MPI_Finalize */
    atomic_bool mpi_gone; /* MPI was finalized while the context lives */
    bool closing;         /* in tern_context_destroy */
    bool fences;          /* the kernel refuses membarriers, so both sides need fences
                             (src/progress/membarrier.c) */
    /* Every rank has libtern_pmpi and serves its workers' calls while it waits in MPI. */
    bool pmpi;
    tern_context *pmpi_next;          /* the next in the process's list in src/mpi/pmpi.c */
    tern_context *next_listed;        /* the next in the list of src/progress/contexts.c */
    struct tern_profiling *profiling; /* NULL: the context is not profiled */
    const tern_layer *const *layers;
    void *layer[TERN_LAYER_SLOTS]; /* the state of each layer */
};

/* Creates a context with these TERN_LAYER_SLOTS layers, the lowest first. tern_context_create
 * (path/init.c) passes all layers. */
tern_status tern_context_open(MPI_Comm comm, const tern_config *config,
                              const tern_layer *const *layers, tern_context **context);

typedef struct tern_profile tern_profile;

/* An operation of several steps that a worker's progress continues (src/progress/progress.h). */
typedef struct tern_pending tern_pending;
typedef struct tern_holder tern_holder;

/* The user of a worker: no thread; the thread that adopted it; or, for a round of progress, the
 * thread of another worker of the process. */
enum { TERN_WORKER_FREE, TERN_WORKER_ADOPTED, TERN_WORKER_BORROWED };

struct tern_worker {
    union {
        tern_worker_view view; /* first: the inlined operations of transfer.h read it */
        struct {               /* its flags, under shorter names */
            char view_before[offsetof(tern_worker_view, in_progress)];
            bool in_progress;
            bool in_handler;
        };
    };
    tern_context *context;
    void *layer[TERN_LAYER_SLOTS];
    uint32_t index;
    uint32_t id;            /* rank * workers + index: its number in the job */
    uint32_t unsettled;     /* operations by TERN_AUTO that do not simply go by RMA: a bit for each
                               kind and class of targets (path/selector.h) */
    uintptr_t thread;       /* the thread of the current or last round of progress
                               (tern_thread_self) */
    bool holds_calls;       /* it is at the end of a phase: its waits run no calls (tern_phase) */
    const char *collective; /* the collective function that it is in, or NULL */
    uint32_t collective_depth; /* how many collective functions of the program are nested
                                  (tern/agree.h) */
    uint32_t vain;             /* looks in a row that found nothing (src/progress/wait.h) */
    uint32_t glances;          /* tests of requests and the like that found nothing */
    uint64_t looked;           /* ns: when such a test last looked for deaths */
    uint64_t looped; /* ns: when the worker last reported that its program loops around such tests
                      */
    tern_pending *pending;
    tern_holder *holders;    /* src/holder.h */
    uint32_t empty;          /* rounds of progress in a row that found nothing, if several contexts
                                share the process */
    tern_profile *profile;   /* NULL: the context is not profiled (src/profile/profile.h) */
    _Atomic uint64_t rounds; /* rounds of progress that began plus those that ended: odd during a
                                round */
    tern_worker *own_next;   /* the next worker of the same thread */
    tern_stats stats;
    /* How often the worker asked MPI for messages, and in the low half on which core. Service
     * threads read it. */
    _Alignas(64) _Atomic uint64_t attended;
    _Atomic uint32_t use; /* TERN_WORKER_FREE, _ADOPTED or _BORROWED (src/progress/worker.c) */
    _Atomic(const void *) owner; /* names the thread that adopted it (tern_pmpi_thread) */
};

/* Whether service threads serve the calls to containers. That is the same on every rank, as are the
 * options of a context. */
static inline bool tern_serves_containers(const tern_context *context) {
    return context->config.service_threads > 0;
}

/* The worker of rank to which calls to its containers go. All calls of this process go to the same
 * worker, so they run in their order. application: the worker to use if there are no service
 * threads. */
static inline tern_worker_id tern_container_worker(const tern_context *context, uint32_t rank,
                                                   uint32_t application) {
    return tern_serves_containers(context) ? tern_context_service(context, rank)
                                           : (tern_worker_id){rank, application};
}

static inline uint32_t tern_worker_number(const tern_context *context, tern_worker_id id) {
    return id.rank * context->workers + id.index;
}

/* Stands for the worker in calls of threads that have none (tern_context_caller): it names the
 * context and has counters. Its index is TERN_NO_WORKER, its number that of the rank's first
 * worker. It is marked as being in a round of progress for ever, so functions that need the worker
 * of one thread refuse it. */
static inline tern_worker *tern_context_nobody(const tern_context *context) {
    return context->worker[context->workers];
}

static inline bool tern_is_nobody(const tern_worker *worker) {
    return worker->index == TERN_NO_WORKER;
}

/* TERN_ERR_STATE if the worker runs a handler, where nothing may wait, or another thread uses it;
 * TERN_ERR_ARGUMENT if it is NULL. */
tern_status tern_worker_may_wait(const tern_worker *worker, const char *function);
/* TERN_ERR_STATE: the worker builds a call in place (tern/call_in_place.h), and function is not
 * allowed meanwhile. */
tern_status tern_reserved_fail(const tern_worker *worker, const char *function);
/* Whether another thread is in a round of progress of the worker, although only its owner may use
 * it. */
bool tern_worker_is_shared(const tern_worker *worker);

/* Whether the calling thread has adopted the worker. */
bool tern_worker_is_own(const tern_worker *worker);

/* Tells the layers that the calling thread has taken the worker. */
void tern_worker_taken(tern_worker *worker);

/* Borrows a worker that no thread has adopted, for one round of progress by the thread of another
 * worker. False: a thread has it. */
bool tern_worker_borrow(tern_worker *worker);
void tern_worker_give_back(tern_worker *worker);
/* Whether the calling thread has borrowed a worker. */
bool tern_worker_borrows(void);

/* One round of progress; does nothing if the worker is in one already. In a process with several
 * contexts it now and then makes progress for the other contexts, too: so handlers of any context
 * may run here (src/progress/contexts.c). The same as tern_progress, under the name that waits use.
 */
size_t tern_progress_round(tern_worker *worker);

/* One round of progress for this context alone. */
size_t tern_progress_alone(tern_worker *worker);

/* tern_progress_round, and a round for each worker of the context in this process that no thread
 * has adopted. For the waits of collectives: a late rank may wait for the answer of any of these
 * workers. For a worker that holds calls back it serves only what runs no handler of its context.
 */
size_t tern_progress_process(tern_worker *worker);

/* Waits until every round of progress that a worker of the process had begun before this call has
 * ended. So all handlers from now on see what the caller stored before, and no handler uses any
 * more what it had found before. Not in a round of progress; it waits for about the time of a
 * handler. */
void tern_progress_pass(const tern_context *context);

/* Whether rank is on this node; true for this rank itself. */
static inline bool tern_same_node(const tern_context *context, uint32_t rank) {
    return context->node[rank] == context->node[context->rank];
}

/* config.c: the configuration. */

/* Returns the name of the first option that differs between a and b although ranks must agree on
 * it, or NULL. [out] of_a, of_b: its two values, in room bytes each. */
const char *tern_config_difference(const tern_config *a, const tern_config *b, char *of_a,
                                   char *of_b, size_t room);

/* Logs a warning for each TERN_* variable of the environment that looks like an option but is not
 * one. */
void tern_config_warn(void);

/*
 * destroyed.c: keeps the structures of the last destroyed contexts and of their workers, emptied,
 * so that a program that still uses one gets TERN_ERR_STATE instead of reading freed memory. Such a
 * context has no ranks, and such a worker is marked as running a handler for ever. So checks that
 * every function makes anyway refuse them, and the hot paths need no further check.
 */

/* Takes over the structure of a context whose content has been freed, and frees the oldest one that
 * was kept. */
void tern_destroyed_keep(tern_context *context);

static inline bool tern_is_destroyed(const tern_context *context) { return context->size == 0; }

/* TERN_ERR_STATE, with the name of the function. */
tern_status tern_destroyed_fail(const char *function) __attribute__((cold));

/* Whether the context has this worker; false for all workers of a destroyed context. */
static inline bool tern_is_worker(const tern_context *context, tern_worker_id id) {
    return id.rank < context->size && id.index < context->workers;
}

/* Checks the worker that a function was given. TERN_ERR_STATE: the context is destroyed.
 * TERN_ERR_ARGUMENT: the context has no such worker. */
tern_status tern_worker_check(const tern_context *context, tern_worker_id id, const char *function);

/* Called in place of free: clears a destroyed object and keeps its memory until some others have
 * been destroyed. So an operation that gets the object finds that it has no context. */
void tern_destroyed_keep_object(void *object, size_t bytes);
/* The error of an operation whose worker is not of the object's context. context: the object's;
 * NULL: the object was destroyed. kind: such as "hash table". */
tern_status tern_object_refuse(const tern_context *context, const char *function, const char *kind)
    __attribute__((cold));

#endif
