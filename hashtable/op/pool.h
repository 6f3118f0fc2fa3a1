#ifndef TERN_HASHTABLE_OP_POOL_H
#define TERN_HASHTABLE_OP_POOL_H

/*
 * Ops that are not waited for at once. Requests have a pool for each worker and table, made when it
 * is first needed, of places that are used again. A batch has a window of its own. The worker's
 * progress steps the ops of a pool, and the batch those of its window.
 */

#include "hashtable/op/op.h"
#include "src/progress/request.h"
#include "tern/hashtable.h"

/* Of operations that are ops; of those by call. */
extern const tern_request_kind tern_op_request, tern_table_call_request;

/* What an op comes to that is no error. */
static inline bool tern_op_is_answer(tern_status outcome) {
    return outcome == TERN_OK || outcome == TERN_ERR_NOT_FOUND || outcome == TERN_ERR_FULL;
}

/* Starts an op with all its arguments, which is copied, as its key is. TERN_ERR_AGAIN: the pool is
 * used up; TERN_ERR_MEMORY. */
tern_status tern_pool_start(tern_op *op, tern_request *request);

/* Of a table that is to be destroyed: ends what the worker has under way, with progress. */
void tern_pool_drain(tern_worker *worker, tern_hashtable *table);
/* Frees the pools of all workers, but for what MPI may still write to. */
void tern_pools_free(tern_hashtable *table);

/* tern_op_step for an op that progress or a batch drives: the death of the rank that it waits for
 * ends it. */
size_t tern_op_step_in_progress(tern_op *op);

/* Whether a worker, which does nothing else meanwhile, has ops in a pool or a window that may touch
 * an array of the owner that is older than generation. */
bool tern_ops_hold(const tern_hashtable *table, uint32_t worker, uint32_t owner,
                   uint64_t generation);

/*
 * window.c: several ops of one batch under way at once. They are begun and ended in order, and no
 * two changes of one key are under way together, so of several values the last stays.
 */

enum { TERN_WINDOW_OPS = 16 };

typedef struct tern_op_window {
    struct tern_op_window *outer; /* of the same worker on the table */
    tern_worker *worker;
    tern_hashtable *table;
    size_t begun, ended;            /* in the order of ops */
    size_t number[TERN_WINDOW_OPS]; /* of an op's item */
    tern_status failed;             /* the first error, */
    char text[240];                 /* and its text */
    char *places;                   /* ops with their keys, and behind all of them their rooms */
} tern_op_window;

/* TERN_ERR_MEMORY. */
tern_status tern_op_window_open(tern_op_window *window, tern_worker *worker, tern_hashtable *table);
/* Nothing is under way, unless MPI may still write to it. */
void tern_op_window_close(tern_op_window *window);

/* Whether an op of this kind can be begun on a key with this hash. */
bool tern_op_window_takes(const tern_op_window *window, const tern_op *op, uint64_t hash);
static inline bool tern_op_window_is_empty(const tern_op_window *window) {
    return window->ended == window->begun;
}

/* The arguments are copied. key: of the table's own size. */
void tern_op_window_begin(tern_op_window *window, const tern_op *op, const void *key,
                          size_t number);
/* Brings the oldest op to its end. [out] number: of its item. */
const tern_op *tern_op_window_end(tern_op_window *window, size_t *number);

/* The first error of an op of the window, with its text; or TERN_OK. */
tern_status tern_op_window_failure(const tern_op_window *window);

bool tern_op_window_holds(const tern_op_window *window, uint32_t owner, uint64_t generation);

#endif
