#ifndef TERN_SRC_PROGRESS_TASK_H
#define TERN_SRC_PROGRESS_TASK_H

/*
 * Task: work of several rounds that belongs to the process, not to a worker, such as moving the
 * keys of a hash table that grows. Every worker's progress runs the tasks of its context; if
 * another worker is running them it skips them.
 */

#include "src/context.h"

struct tern_task {
    tern_task *next;
    /* Does a bounded piece of work and returns how many events that was. Runs in progress: it must
     * neither wait nor add or remove tasks. */
    size_t (*run)(tern_worker *worker, tern_task *task);
};

/* Adds a task. Any thread that is not in progress may call it. */
void tern_task_add(tern_context *context, tern_task *task);
/* Removes a task; returns when no worker runs it any more. A task that was never added is fine. */
void tern_task_remove(tern_context *context, tern_task *task);

/* Waits for the task that runs, and keeps all tasks from running until tern_tasks_go. Not in tasks.
 */
void tern_tasks_stop(tern_context *context);
void tern_tasks_go(tern_context *context);

/* Part of progress: runs all tasks, unless another worker is doing that. */
size_t tern_tasks_run(tern_worker *worker);

#endif
