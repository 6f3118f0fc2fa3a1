#include "src/progress/task.h"

#include <sched.h>

/* A flag, not a mutex: progress tries it in each round, and a thread that waits for it waits at
 * most for one bounded piece of work. Its release and acquire order accesses to the list and to the
 * state of the tasks. */

void tern_tasks_stop(tern_context *context) {
    /* R6: tern_tasks_go, tern_tasks_run */
    while (atomic_flag_test_and_set_explicit(&context->tasks_busy, memory_order_acquire))
        sched_yield();
}

void tern_tasks_go(tern_context *context) {
    /* R6: tern_tasks_stop, tern_tasks_run */
    atomic_flag_clear_explicit(&context->tasks_busy, memory_order_release);
}

void tern_task_add(tern_context *context, tern_task *task) {
    tern_tasks_stop(context);
    /* R9: tern_tasks_stop */
    task->next = atomic_load_explicit(&context->tasks, memory_order_relaxed);
    atomic_store_explicit(&context->tasks, task, memory_order_relaxed);
    tern_tasks_go(context);
}

void tern_task_remove(tern_context *context, tern_task *task) {
    tern_tasks_stop(context);
    /* R9: tern_tasks_stop */
    tern_task *first = atomic_load_explicit(&context->tasks, memory_order_relaxed), **at = &first;
    while (*at != NULL && *at != task)
        at = &(*at)->next;
    if (*at != NULL)
        *at = task->next;
    /* R9: tern_tasks_stop */
    atomic_store_explicit(&context->tasks, first, memory_order_relaxed);
    tern_tasks_go(context);
}

size_t tern_tasks_run(tern_worker *worker) {
    tern_context *context = worker->context;
    size_t events = 0;
    /* R6: tern_tasks_go */
    if (atomic_flag_test_and_set_explicit(&context->tasks_busy, memory_order_acquire))
        return 0;
    for (tern_task *task = atomic_load_explicit(&context->tasks, memory_order_relaxed);
         task != NULL; task = task->next)
        events += task->run(worker, task);
    tern_tasks_go(context);
    return events;
}
