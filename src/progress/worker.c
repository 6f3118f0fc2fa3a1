#include <sched.h>

#include "base/error.h"
#include "src/context.h"
#include "src/mpi/pmpi.h"
#include "src/progress/wait.h"

/* How many workers the calling thread has borrowed: workers of one context and, if it waits there,
 * of other contexts. */
static _Thread_local uint32_t borrowing;

bool tern_worker_borrow(tern_worker *worker) {
    uint32_t use = TERN_WORKER_FREE;
    /* R4; so that waits do not write to what another thread uses */
    if (atomic_load_explicit(&worker->use, memory_order_relaxed) != use)
        return false;
    /* R6: tern_worker_release, tern_worker_give_back, tern_service_threads_stop */
    if (!atomic_compare_exchange_strong_explicit(&worker->use, &use, TERN_WORKER_BORROWED,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    borrowing++;
    return true;
}

bool tern_worker_borrows(void) { return borrowing > 0; }

void tern_worker_give_back(tern_worker *worker) {
    borrowing--;
    /* R6: worker_take, tern_worker_borrow */
    atomic_store_explicit(&worker->use, TERN_WORKER_FREE, memory_order_release);
}

/* Adopts a worker. False: a thread has it. If another thread has borrowed the worker this waits
 * until that round of progress ends, but not within such a round itself, where two threads could
 * wait for each other. */
static bool worker_take(tern_worker *worker) {
    uint32_t use = TERN_WORKER_FREE;
    /* R6: tern_worker_release, tern_worker_give_back; the new owner sees what the old one left */
    while (!atomic_compare_exchange_strong_explicit(&worker->use, &use, TERN_WORKER_ADOPTED,
                                                    memory_order_acquire, memory_order_relaxed)) {
        if (use == TERN_WORKER_ADOPTED || borrowing > 0)
            return false;
        sched_yield();
        use = TERN_WORKER_FREE;
    }
    return true;
}

void tern_worker_taken(tern_worker *worker) {
    const tern_layer *const *layers = worker->context->layers;
    for (size_t i = 0; i < TERN_LAYER_SLOTS; i++)
        if (layers[i]->adopt != NULL)
            layers[i]->adopt(worker);
}

tern_status tern_worker_adopt(tern_context *context, uint32_t index, tern_worker **worker) {
    if (context == NULL || worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_worker_adopt: context or worker is NULL");
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_worker_adopt");
    if (index >= context->config.workers)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_worker_adopt: index is %u; it must be less than TERN_WORKERS, which is %zu",
            index, context->config.workers);
    if (!worker_take(context->worker[index]))
        return tern_fail(TERN_ERR_STATE,
                         "tern_worker_adopt: worker %u has an owner, which must release it first",
                         index);
    *worker = context->worker[index];
    tern_worker_taken(*worker);
    tern_pmpi_adopt(*worker);
    return TERN_OK;
}

tern_status tern_worker_release(tern_worker *worker) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_worker_release: worker is NULL");
    tern_status status = tern_worker_may_wait(worker, "tern_worker_release");
    if (status != TERN_OK)
        return status;
    if (!tern_pmpi_release(worker))
        return tern_fail(TERN_ERR_STATE,
                         "tern_worker_release: worker %u has no owner; release it once for each "
                         "tern_worker_adopt",
                         worker->index);
    /* R6: worker_take, tern_worker_borrow */
    atomic_store_explicit(&worker->use, TERN_WORKER_FREE, memory_order_release);
    return TERN_OK;
}

bool tern_worker_is_own(const tern_worker *worker) {
    /* R9: tern_pmpi_adopt; this thread's own store, or not its worker */
    return atomic_load_explicit(&worker->owner, memory_order_relaxed) == tern_pmpi_thread();
}

bool tern_worker_is_shared(const tern_worker *worker) {
    return worker->in_progress && worker->view.reserved == 0 &&
           worker->thread != tern_thread_self() && !tern_is_nobody(worker) &&
           !tern_is_destroyed(worker->context);
}

__attribute__((cold)) tern_status tern_reserved_fail(const tern_worker *worker,
                                                     const char *function) {
    return tern_fail(TERN_ERR_STATE,
                     "%s: this worker has reserved a call to worker %u of rank %u "
                     "(tern_call_reserve); commit or cancel that call first",
                     function, (worker->view.reserved - 1) % worker->context->workers,
                     (worker->view.reserved - 1) / worker->context->workers);
}

static __attribute__((cold)) tern_status worker_refuse_wait(const tern_worker *worker,
                                                            const char *function) {
    if (tern_is_destroyed(worker->context))
        return tern_destroyed_fail(function);
    if (tern_worker_is_shared(worker))
        return tern_fail(TERN_ERR_STATE,
                         "%s: another thread is using worker %u; each thread adopts a worker of "
                         "its own (TERN_WORKERS)",
                         function, worker->index);
    if (worker->view.reserved != 0)
        return tern_reserved_fail(worker, function);
    return tern_fail(TERN_ERR_STATE, "%s may wait and is not allowed in a handler", function);
}

tern_status tern_worker_may_wait(const tern_worker *worker, const char *function) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: worker is NULL", function);
    if (worker->in_handler || worker->in_progress || borrowing > 0)
        return worker_refuse_wait(worker, function);
    tern_waits_in = worker->collective != NULL ? worker->collective : function;
    return TERN_OK;
}

tern_context *tern_worker_context(const tern_worker *worker) { return worker->context; }

tern_worker_id tern_worker_self(const tern_worker *worker) {
    return (tern_worker_id){worker->context->rank, worker->index};
}

void tern_stats_get(const tern_worker *worker, tern_stats *stats) { *stats = worker->stats; }
