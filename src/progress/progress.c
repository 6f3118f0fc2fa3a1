#include "tern/progress.h"

#include <sched.h>

#include "base/error.h"
#include "src/log.h"
#include "src/profile/profile.h"
#include "src/progress/progress.h"
#include "src/progress/task.h"
#include "src/progress/wait.h"

static size_t move_all(tern_worker *worker) {
    size_t events = 0;
    for (tern_pending **at = &worker->pending; *at != NULL;) {
        tern_pending *pending = *at;
        if (pending->move(worker, pending, &events))
            at = &pending->next;
        else
            *at = pending->next;
    }
    return events;
}

static void round_begin(tern_worker *worker) {
    worker->thread = tern_thread_self();
    worker->in_progress = true;
    /* R3: tern_progress_pass; that one sees the round, or the round what it has stored */
    atomic_store_explicit(&worker->rounds,
                          atomic_load_explicit(&worker->rounds, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (__builtin_expect(worker->context->fences, 0))
        /* R3: tern_progress_pass */
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
}

static void round_end(tern_worker *worker) {
    /* R1: tern_progress_pass */
    atomic_store_explicit(&worker->rounds,
                          atomic_load_explicit(&worker->rounds, memory_order_relaxed) + 1,
                          memory_order_release);
    worker->in_progress = false;
}

void tern_progress_pass(const tern_context *context) {
    tern_membarrier(context);
    /* R3: round_begin */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < context->workers; i++) {
        const _Atomic uint64_t *rounds = &context->worker[i]->rounds;
        /* R3: round_begin; an acquire too, of the round that has ended */
        const uint64_t now = atomic_load(rounds);
        /* R1: round_end */
        while (now % 2 == 1 && atomic_load_explicit(rounds, memory_order_acquire) == now)
            sched_yield();
    }
}

static inline __attribute__((always_inline)) size_t round_run(tern_worker *worker) {
    round_begin(worker);
    const uint32_t failures = tern_thread_failures.count;
    size_t events = 0;
    tern_context *context = worker->context;
    for (size_t i = 0; i < TERN_LAYER_SLOTS; i++)
        if (context->layers[i]->progress != NULL)
            events += context->layers[i]->progress(worker);
    for (size_t i = 0; i < context->hooks; i++)
        events += context->hook[i].run(worker, context->hook[i].argument);
    if (worker->pending != NULL)
        events += move_all(worker);
    /* R4 */
    if (atomic_load_explicit(&context->tasks, memory_order_relaxed) != NULL)
        events += tern_tasks_run(worker);
    /* Every failure was reported already: a handler's error, for example, to its caller. */
    if (__builtin_expect(tern_thread_failures.count != failures, 0))
        tern_error_clear();
    if (events > 0)
        worker->vain = 0;
    round_end(worker);
    return events;
}

/* A round with a profile. Rounds that find nothing are not counted. */
static __attribute__((noinline)) size_t profiled_round(tern_worker *worker) {
    tern_profile_use(worker);
    const tern_span span = tern_span_begin(worker, TERN_SPAN_PROGRESS, TERN_NO_FUNCTION);
    const size_t events = round_run(worker);
    tern_span_end(worker, &span, TERN_NOBODY, 0, events > 0 ? TERN_OK : TERN_ERR_EMPTY);
    return events;
}

/* Progress was called in a handler, or by a second thread on the worker. Such threads may break
 * anything, so the second case is logged. */
static __attribute__((noinline)) size_t round_within(const tern_worker *worker) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    /* R4 */
    if (tern_worker_is_shared(worker) && !atomic_flag_test_and_set(&said))
        tern_log(
            TERN_LOG_ERROR,
            "two threads use worker %u of rank %u at the same time; each thread adopts a worker "
            "of its own (TERN_WORKERS)",
            worker->index, worker->context->rank);
    return 0;
}

size_t tern_progress_alone(tern_worker *worker) {
    if (worker->in_progress)
        return round_within(worker);
    if (__builtin_expect(worker->profile != NULL, 0))
        return profiled_round(worker);
    return round_run(worker);
}

/* Makes progress for the other contexts, but not in each round while a wait may end soon: a round
 * for them costs as much as one for this context. */
static __attribute__((noinline)) size_t others_round(tern_worker *worker, size_t events) {
    enum { ROUNDS_PER_TURN = 8, EMPTY_ROUNDS = 64 };
    worker->empty = events == 0 ? worker->empty + 1 : 0;
    /* R9: round_begin; this thread's own store */
    const uint64_t rounds = atomic_load_explicit(&worker->rounds, memory_order_relaxed) / 2;
    return worker->empty > EMPTY_ROUNDS || rounds % ROUNDS_PER_TURN == 0
               ? tern_contexts_round(worker)
               : 0;
}

size_t tern_progress_round(tern_worker *worker) {
    size_t events = tern_progress_alone(worker);
    if (__builtin_expect(tern_contexts_several(), 0) && !worker->in_progress && !worker->in_handler)
        events += others_round(worker, events);
    return events;
}

size_t tern_progress_process(tern_worker *worker) {
    const tern_context *context = worker->context;
    if (__builtin_expect(worker->holds_calls, 0))
        return tern_layers_serve(worker) + tern_contexts_round(worker);
    size_t events = tern_progress_round(worker);
    for (uint32_t i = 0; i < context->workers; i++) {
        tern_worker *other = context->worker[i];
        if (other == worker || !tern_worker_borrow(other))
            continue;
        events += tern_progress_alone(other);
        tern_worker_give_back(other);
    }
    if (__builtin_expect(worker->profile != NULL, 0))
        tern_profile_use(worker); /* the others are not this thread's any more */
    return events;
}

size_t tern_progress(tern_worker *worker) {
    const size_t events = worker == NULL ? 0 : tern_progress_round(worker);
    if (worker != NULL && events == 0)
        tern_look_vainly(worker);
    return events;
}

tern_status tern_progress_hook_add(tern_context *context, tern_progress_hook hook, void *argument) {
    if (context == NULL || hook == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_progress_hook_add: context or hook is NULL");
    if (context->hooks == TERN_PROGRESS_HOOKS)
        return tern_fail(TERN_ERR_FULL,
                         "all %d progress hooks of the context are taken; remove one first",
                         TERN_PROGRESS_HOOKS);
    context->hook[context->hooks++] = (tern_hook){hook, argument};
    return TERN_OK;
}

tern_status tern_progress_hook_remove(tern_context *context, tern_progress_hook hook,
                                      void *argument) {
    if (context == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_progress_hook_remove: context is NULL");
    for (size_t i = 0; i < context->hooks; i++) {
        if (context->hook[i].run != hook || context->hook[i].argument != argument)
            continue;
        for (size_t k = i + 1; k < context->hooks; k++)
            context->hook[k - 1] = context->hook[k];
        context->hooks--;
        return TERN_OK;
    }
    return tern_fail(
        TERN_ERR_NOT_FOUND,
        "tern_progress_hook_remove: no hook was added with this function and this argument");
}
