#ifndef TERN_SRC_PROGRESS_TASK_H
#define TERN_SRC_PROGRESS_TASK_H

/*
 * Task: work of several rounds that belongs to the process, not to a worker, such as moving the
 * keys of a hash table that grows. Every worker's progress runs the tasks of its context, one
 * worker at a time; the others pass by.
 */

#include "src/context.h"

struct tern_task {
    tern_task *next;
    /* Does a bounded piece and returns how many events that was. Runs in progress: neither waits
     * nor adds or removes tasks. */
    size_t (*run)(tern_worker *worker, tern_task *task);
};

/* Any thread that is not in progress. */
void tern_task_add(tern_context *context, tern_task *task);
/* Returns when no worker runs it any more. One that was never added is fine. */
void tern_task_remove(tern_context *context, tern_task *task);

/* Keeps all tasks from running meanwhile, and waits for the one that runs. Not in tasks. */
void tern_tasks_stop(tern_context *context);
void tern_tasks_go(tern_context *context);

/* Of progress: runs what there is, unless another worker does. */
size_t tern_tasks_run(tern_worker *worker);

#endif
