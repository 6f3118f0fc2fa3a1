#include "src/mpi/mpi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/context.h"
#include "src/log.h"
#include "src/collective/object.h"
#include "src/progress/progress.h"
#include "tern/config.h"

/* Makes one line of MPI's text, which may have several. */
static void text_join(char *text) {
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        const char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || (to > text && to[-1] != ' '))
            *to++ = c;
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = 0;
}

void tern_mpi_text(int code, char text[MPI_MAX_ERROR_STRING]) {
    int length = 0;
    if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    text_join(text);
}

tern_status tern_fail_mpi(int code, const char *call) {
    char text[MPI_MAX_ERROR_STRING];
    tern_mpi_text(code, text);
    return tern_fail(TERN_ERR_MPI, "%s: %s", call, text);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Below MPI_THREAD_SERIALIZED one thread of the process makes all calls of MPI, and a lock would
 * only cost: some 40 ns a call. The level belongs to the process and does not change. Until it is
 * known the lock is taken. */
static atomic_bool one_thread;
static pthread_t the_thread; /* written before one_thread */

/* Whether this thread holds the lock. */
static _Thread_local bool locked;
static _Thread_local uint64_t locks;

void tern_mpi_lock(void) {
    /* R9: tern_mpi_check; before there is a context */
    if (!atomic_load_explicit(&one_thread, memory_order_relaxed))
        pthread_mutex_lock(&lock);
    locked = true;
    locks++;
}

uint64_t tern_mpi_locks(void) { return locks; }

bool tern_mpi_trylock(void) {
    /* R9: tern_mpi_check; before there is a context */
    if (!atomic_load_explicit(&one_thread, memory_order_relaxed) &&
        pthread_mutex_trylock(&lock) != 0)
        return false;
    locked = true;
    return true;
}

void tern_mpi_unlock(void) {
    locked = false;
    /* R9: tern_mpi_check; before there is a context */
    if (!atomic_load_explicit(&one_thread, memory_order_relaxed))
        pthread_mutex_unlock(&lock);
}

bool tern_mpi_locked(void) { return locked; }

/* The MPI with which this file is compiled. */
#ifdef OPEN_MPI
#define BUILT_FOR_OPEN_MPI true
#define BUILT_FOR                                                                                  \
    "Open MPI " TERN_INTERNAL_TEXT(OMPI_MAJOR_VERSION) "." TERN_INTERNAL_TEXT(OMPI_MINOR_VERSION)
#else
#define BUILT_FOR_OPEN_MPI false
#define BUILT_FOR "MPICH " MPICH_VERSION
#endif

/* Checks that the program runs with the MPI that tern was built for. Versions of one MPI accept
 * each other's handles; MPICH and Open MPI do not accept each other's. */
static tern_status check_library(void) {
    char version[8192]; /* large enough for any MPI: MPICH's MPI_MAX_LIBRARY_VERSION_STRING */
    int length = 0;
    int code = PMPI_Get_library_version(version, &length);
    if (code != MPI_SUCCESS)
        return tern_fail_mpi(code, "MPI_Get_library_version");
    if ((strstr(version, "Open MPI") != NULL) == BUILT_FOR_OPEN_MPI)
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "tern was built for " BUILT_FOR ", but this program runs with %.*s; link tern "
                     "and the program with one MPI",
                     (int)strcspn(version, "\n,"), version);
}

/* Checks that the mpirun of the program's own MPI has started it: the mpirun of another MPI starts
 * a program as several jobs of one rank each. */
static tern_status check_launch(void) {
    int size = 0;
    if (PMPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS || size != 1)
        return TERN_OK;
    static const char *const announced[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
    for (size_t i = 0; i < 2; i++) {
        const char *text = getenv(announced[i]);
        if (text != NULL && atoi(text) > 1)
            return tern_fail(TERN_ERR_STATE,
                             "mpirun started %s ranks (%s), but this program's MPI, " BUILT_FOR
                             ", sees one: mpirun belongs to another MPI; start the program by "
                             "mpirun-tern or by the mpirun of its own",
                             text, announced[i]);
    }
    return TERN_OK;
}

tern_status tern_mpi_check(size_t workers) {
    tern_status status = check_library();
    if (status != TERN_OK)
        return status;
    int initialized = 0, finalized = 0, provided = 0;
    PMPI_Initialized(&initialized);
    if (!initialized)
        return tern_fail(TERN_ERR_STATE, "MPI is not initialized; call MPI_Init_thread first");
    PMPI_Finalized(&finalized);
    if (finalized)
        return tern_fail(TERN_ERR_STATE, "MPI is finalized already; create contexts before that");
    int code = PMPI_Query_thread(&provided);
    if (code != MPI_SUCCESS)
        return tern_fail_mpi(code, "MPI_Query_thread");
    if (workers > 1 && provided < MPI_THREAD_SERIALIZED)
        return tern_fail(
            TERN_ERR_STATE,
            "TERN_WORKERS and TERN_SERVICE_THREADS, %zu together, need MPI_THREAD_SERIALIZED, but "
            "MPI was started with %s; ask for it in MPI_Init_thread",
            workers, provided == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED");
    status = check_launch();
    if (status != TERN_OK)
        return status;
    /* R1: tern_mpi_check_thread */
    if (provided < MPI_THREAD_SERIALIZED && !atomic_load(&one_thread)) {
        the_thread = pthread_self();
        atomic_store_explicit(&one_thread, true, memory_order_release);
    }
    return TERN_OK;
}

tern_status tern_mpi_check_thread(const char *function) {
    /* R1: tern_mpi_check */
    if (!atomic_load_explicit(&one_thread, memory_order_acquire) ||
        pthread_equal(pthread_self(), the_thread))
        return TERN_OK;
    return tern_fail(TERN_ERR_STATE,
                     "%s by another thread than the one that uses MPI needs MPI_THREAD_SERIALIZED; "
                     "ask for it in MPI_Init_thread",
                     function);
}

bool tern_mpi_allows_threads(void) {
    int provided = MPI_THREAD_SINGLE;
    return PMPI_Query_thread(&provided) == MPI_SUCCESS && provided >= MPI_THREAD_FUNNELED;
}

/* Gives the MPI lock back meanwhile: MPI_Finalize is called under it, and the service threads need
 * it to end. */
static void stop_service_threads(tern_context *context) {
    bool ours = locked;
    if (ours)
        tern_mpi_unlock();
    tern_service_threads_stop(context);
    if (ours)
        tern_mpi_lock();
}

static int finalized_under_us(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)extra;
    (void)key;
    tern_context *context = value;
    if (!context->closing) {
        stop_service_threads(context);
        /* R7: tern_context_destroy */
        atomic_store(&context->mpi_gone, true);
        char kinds[160];
        const size_t count = tern_objects_name(context, kinds, sizeof kinds);
        if (context->rank == 0) /* all ranks have forgotten to destroy it, so one line is enough */
            tern_log(TERN_LOG_ERROR,
                     "MPI_Finalize before tern_context_destroy, on %u ranks: destroy contexts "
                     "first; this one, with %zu objects%s%s, is only freed locally",
                     context->size, count, count > 0 ? ": " : "", kinds);
    }
    return MPI_SUCCESS;
}

/* Sets an attribute on MPI_COMM_SELF for each context: MPI_Finalize deletes these before anything
 * else. */
tern_status tern_mpi_watch_finalize(tern_context *context) {
    int key = MPI_KEYVAL_INVALID;
    tern_status status =
        TERN_MPI(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalized_under_us, &key, NULL));
    if (status == TERN_OK)
        status = TERN_MPI(PMPI_Comm_set_attr(MPI_COMM_SELF, key, context));
    if (status == TERN_OK)
        context->finalize_key = key;
    return status;
}

void tern_mpi_forget_finalize(tern_context *context) {
    if (context->finalize_key == MPI_KEYVAL_INVALID)
        return;
    context->closing = true;
    tern_mpi_lock();
    PMPI_Comm_delete_attr(MPI_COMM_SELF, context->finalize_key);
    PMPI_Comm_free_keyval(&context->finalize_key);
    tern_mpi_unlock();
}
