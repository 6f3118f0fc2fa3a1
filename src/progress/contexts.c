#include <pthread.h>
#include <sched.h>

#include "base/error.h"
#include "src/profile/profile.h"
#include "src/progress/progress.h"
#include "src/progress/wait.h"

/* Threads that make progress for the listed contexts are readers of the list. A context joins and
 * leaves as a writer, which is seldom. No reader begins while a writer waits; otherwise threads
 * whose reads overlap could keep a context from being destroyed for ever. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic uint32_t writers; /* writers that wait */
static tern_context *contexts;

_Atomic uint32_t tern_contexts_count;

/* Whether the calling thread is a reader. */
static _Thread_local bool reading;

void tern_contexts_begin(void) {
    /* R4; a thread that sees it late has looked before this context waits for anything */
    atomic_fetch_add_explicit(&tern_contexts_count, 1, memory_order_relaxed);
}

void tern_contexts_end(void) {
    /* R4 */
    atomic_fetch_sub_explicit(&tern_contexts_count, 1, memory_order_relaxed);
}

/* Takes the lock as a writer. It serves other ranks while it waits: a reader may wait for them, and
 * they for this thread. */
static void list_lock(void) {
    /* R4 */
    atomic_fetch_add_explicit(&writers, 1, memory_order_relaxed);
    while (pthread_rwlock_trywrlock(&lock) != 0) {
        (void)tern_contexts_serve(NULL);
        sched_yield();
    }
    /* R4 */
    atomic_fetch_sub_explicit(&writers, 1, memory_order_relaxed);
}

void tern_contexts_join(tern_context *context) {
    list_lock();
    context->next_listed = contexts;
    contexts = context;
    pthread_rwlock_unlock(&lock);
}

void tern_contexts_leave(const tern_context *context) {
    list_lock();
    tern_context **link = &contexts;
    while (*link != NULL && *link != context)
        link = &(*link)->next_listed;
    if (*link != NULL)
        *link = context->next_listed;
    pthread_rwlock_unlock(&lock);
}

bool tern_contexts_reading(void) { return reading; }

/* Whether the calling thread may use the worker now: it has adopted it, or no thread has. */
static bool worker_enter(tern_worker *worker, bool *borrowed) {
    const bool own = tern_worker_is_own(worker);
    *borrowed = !own && tern_worker_borrow(worker);
    return own || *borrowed;
}

/* Calls run for each worker that the calling thread may use, in every listed context except but.
 * Returns the sum of events. */
static size_t others_each(const tern_context *but, size_t (*run)(tern_worker *worker)) {
    size_t events = 0;
    for (tern_context *context = contexts; context != NULL; context = context->next_listed) {
        /* R7: finalized_under_us */
        if (context == but || atomic_load(&context->mpi_gone))
            continue;
        for (size_t i = 0; i < context->config.workers; i++) {
            tern_worker *worker = context->worker[i];
            bool borrowed;
            if (!worker_enter(worker, &borrowed))
                continue;
            events += run(worker);
            if (borrowed)
                tern_worker_give_back(worker);
        }
    }
    return events;
}

static size_t worker_round(tern_worker *worker) {
    return worker->in_handler ? 0 : tern_progress_alone(worker);
}

size_t tern_layers_serve(tern_worker *worker) {
    const tern_layer *const *layers = worker->context->layers;
    size_t events = 0;
    for (size_t i = 0; i < TERN_LAYER_SLOTS; i++)
        if (layers[i]->serve != NULL)
            events += layers[i]->serve(worker);
    return events;
}

size_t tern_contexts_round(tern_worker *worker) {
    /* R4 */
    if (!tern_contexts_several() || reading || tern_worker_borrows() ||
        atomic_load_explicit(&writers, memory_order_relaxed) != 0 ||
        pthread_rwlock_tryrdlock(&lock) != 0)
        return 0;
    /* Handlers of the other contexts may use this worker, by the rules of handlers. */
    const bool flagged = worker != NULL && !worker->in_progress;
    const char *in = tern_waits_in;
    reading = true;
    if (flagged) {
        worker->in_handler = worker->in_progress = true;
        worker->thread = tern_thread_self();
    }
    const size_t events = others_each(worker != NULL ? worker->context : NULL, worker_round);
    if (flagged)
        worker->in_handler = worker->in_progress = false;
    reading = false;
    tern_waits_in = in;
    pthread_rwlock_unlock(&lock);
    tern_profile_use(worker); /* the waits of this thread belong to this worker again */
    return events;
}

size_t tern_contexts_serve(const tern_context *context) {
    if (!tern_contexts_several() || (!reading && pthread_rwlock_tryrdlock(&lock) != 0))
        return 0;
    const size_t events = others_each(context, tern_layers_serve);
    if (!reading)
        pthread_rwlock_unlock(&lock);
    return events;
}
