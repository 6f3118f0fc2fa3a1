#include "src/context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { KEPT = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tern_context *kept[KEPT];
static size_t next;

static void context_free(tern_context *context) {
    for (uint32_t i = 0; context != NULL && i <= context->workers_kept; i++)
        free(context->worker[i]);
    if (context != NULL)
        free(context->worker);
    free(context);
}

static void worker_empty(tern_worker *worker, tern_context *context) {
    void *layer[TERN_LAYER_SLOTS]; /* stays: a layer may have left a state here that makes it refuse
                                      the worker */
    memcpy(layer, worker->layer, sizeof layer);
    memset(worker, 0, sizeof *worker);
    memcpy(worker->layer, layer, sizeof layer);
    worker->context = context;
    worker->in_handler = worker->in_progress = true;
}

void tern_destroyed_keep_object(void *object, size_t bytes) {
    static void *objects[KEPT];
    static size_t at;
    memset(object, 0, bytes);
    pthread_mutex_lock(&lock);
    void *oldest = objects[at];
    objects[at] = object;
    at = (at + 1) % KEPT;
    pthread_mutex_unlock(&lock);
    free(oldest);
}

tern_status tern_object_refuse(const tern_context *context, const char *function,
                               const char *kind) {
    if (context == NULL)
        return tern_fail(TERN_ERR_STATE, "%s: the %s has been destroyed", function, kind);
    return tern_fail(TERN_ERR_ARGUMENT, "%s: worker and %s are of different contexts", function,
                     kind);
}

void tern_destroyed_keep(tern_context *context) {
    tern_worker **worker = context->worker;
    const uint32_t workers = context->workers;
    memset(context, 0, sizeof *context);
    context->worker = worker;
    context->workers_kept = workers;
    for (uint32_t i = 0; i <= workers; i++)
        worker_empty(worker[i], context);
    pthread_mutex_lock(&lock);
    tern_context *oldest = kept[next];
    kept[next] = context;
    next = (next + 1) % KEPT;
    pthread_mutex_unlock(&lock);
    context_free(oldest);
}

tern_status tern_destroyed_fail(const char *function) {
    return tern_fail(TERN_ERR_STATE, "%s: the context has been destroyed", function);
}
