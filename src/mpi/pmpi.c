#include "src/mpi/pmpi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "src/context.h"
#include "src/log.h"
#include "src/mpi/mpi.h"

/*
 * The contexts of this process that libtern_pmpi serves, and the workers of its threads. Both
 * change rarely and are read in every wait. So each thread has a list of its own workers, and makes
 * the list anew when changes has grown.
 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects the next two */
static tern_context *contexts;
static size_t in_threads; /* number of contexts for which several threads may call MPI */

static _Atomic uint64_t changes = 1;
static atomic_bool lock_needed;

/* The list of the calling thread; its address names the thread. */
static _Thread_local struct {
    uint64_t changes;
    tern_worker *first;
} own;

static bool thread_lock(void) {
    /* R9: tern_pmpi_begin, tern_pmpi_end; where threads need the lock, the program has ordered its
     * calls of MPI with the creation of the context, which calls MPI too */
    if (!atomic_load_explicit(&lock_needed, memory_order_relaxed) || tern_mpi_locked())
        return false;
    tern_mpi_lock();
    return true;
}

static tern_worker *thread_workers(void) {
    /* R8: announce_change; before the look at the contexts and their workers */
    const uint64_t now = atomic_load_explicit(&changes, memory_order_acquire);
    if (own.changes == now)
        return own.first;
    own.first = NULL;
    pthread_mutex_lock(&mutex);
    for (tern_context *context = contexts; context != NULL; context = context->pmpi_next) {
        for (size_t i = 0; i < context->config.workers; i++) {
            tern_worker *worker = context->worker[i];
            /* R9: announce_change */
            if (atomic_load_explicit(&worker->owner, memory_order_relaxed) != &own)
                continue;
            worker->own_next = own.first;
            own.first = worker;
        }
    }
    pthread_mutex_unlock(&mutex);
    own.changes = now;
    return own.first;
}

/* Gives the MPI lock back if the program holds it around its call of MPI, since another thread may
 * need it. */
static void thread_step(tern_wait_state *wait) {
    const bool locked = tern_mpi_locked();
    if (locked)
        tern_mpi_unlock();
    tern_worker *first = thread_workers();
    bool busy = false;
    size_t found = 0;
    for (const tern_worker *worker = first; worker != NULL; worker = worker->own_next)
        busy = busy || worker->in_progress || worker->in_handler;
    for (tern_worker *worker = first; worker != NULL && !busy; worker = worker->own_next)
        found += tern_progress_alone(worker);
    (void)tern_wait_round(first != NULL ? first->context : NULL, wait, found, TERN_NOBODY);
    if (locked)
        tern_mpi_lock();
}

static bool context_covers(const tern_context *context, MPI_Group group, int size) {
    MPI_Group all = MPI_GROUP_NULL, common = MPI_GROUP_NULL;
    int in_common = -1;
    if (PMPI_Comm_group(context->comm, &all) == MPI_SUCCESS &&
        PMPI_Group_intersection(group, all, &common) == MPI_SUCCESS)
        PMPI_Group_size(common, &in_common);
    if (common != MPI_GROUP_NULL)
        PMPI_Group_free(&common);
    if (all != MPI_GROUP_NULL)
        PMPI_Group_free(&all);
    return in_common == size;
}

static bool contexts_cover(MPI_Group group) {
    int size = 0;
    PMPI_Group_size(group, &size);
    bool covered = false;
    pthread_mutex_lock(&mutex);
    for (const tern_context *c = contexts; c != NULL && !covered; c = c->pmpi_next)
        covered = context_covers(c, group, size);
    pthread_mutex_unlock(&mutex);
    return covered;
}

static const tern_pmpi_host host = {
    .changes = &changes,
    .lock = thread_lock,
    .unlock = tern_mpi_unlock,
    .step = thread_step,
    .covers = contexts_cover,
};

/* Looks a function up by name: a weak reference in a static program does not find preloaded
 * functions. */
#define PMPI_FIND(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_DEFAULT, #name))

bool tern_pmpi_is_loaded(void) {
    __typeof__(&tern_pmpi_version) ask = PMPI_FIND(tern_pmpi_version);
    if (ask == NULL)
        return false;
    if (strcmp(ask(), TERN_PMPI_VERSION) == 0)
        return true;
    tern_log(TERN_LOG_WARN,
             "libtern_pmpi is of version %s, libtern of version %s: it is not used; load the one "
             "that was installed with libtern",
             ask(), TERN_PMPI_VERSION);
    return false;
}

static void announce_change(void) {
    /* R8: thread_workers, tern_pmpi_qualifies */
    atomic_fetch_add_explicit(&changes, 1, memory_order_release);
}

static bool context_needs_lock(const tern_context *context) {
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    return context->workers > 1 && level == MPI_THREAD_SERIALIZED;
}

void tern_pmpi_begin(tern_context *context) {
    if (!context->pmpi)
        return;
    pthread_mutex_lock(&mutex);
    in_threads += context_needs_lock(context);
    /* R9: thread_lock */
    atomic_store_explicit(&lock_needed, in_threads > 0, memory_order_relaxed);
    context->pmpi_next = contexts;
    contexts = context;
    announce_change();
    PMPI_FIND(tern_pmpi_attach)(&host);
    pthread_mutex_unlock(&mutex);
}

void tern_pmpi_end(tern_context *context) {
    pthread_mutex_lock(&mutex);
    tern_context **link = &contexts;
    while (*link != NULL && *link != context)
        link = &(*link)->pmpi_next;
    if (*link != NULL) {
        *link = context->pmpi_next;
        in_threads -= context->workers > 1 && in_threads > 0;
        /* R9: thread_lock */
        atomic_store_explicit(&lock_needed, in_threads > 0, memory_order_relaxed);
        announce_change();
        if (contexts == NULL)
            PMPI_FIND(tern_pmpi_attach)(NULL);
    }
    pthread_mutex_unlock(&mutex);
}

const void *tern_pmpi_thread(void) { return &own; }

void tern_pmpi_adopt(tern_worker *worker) {
    /* R9: announce_change; behind tern_worker_adopt's acquire */
    atomic_store_explicit(&worker->owner, &own, memory_order_relaxed);
    announce_change();
}

bool tern_pmpi_release(tern_worker *worker) {
    /* R9: tern_worker_release; of two threads that release it, one finds an owner */
    if (atomic_exchange_explicit(&worker->owner, NULL, memory_order_relaxed) == NULL)
        return false;
    announce_change();
    return true;
}
