#ifndef TERN_HASHTABLE_OP_POOL_H
#define TERN_HASHTABLE_OP_POOL_H

/*
 * Ops that are not waited for at once. For requests each worker has one pool of places for each
 * table, made when it is first needed; places are used again. A batch has a pipeline of its own.
 * The worker's progress steps the ops of a pool, and the batch those of its pipeline.
 */

#include "hashtable/op/op.h"
#include "src/progress/request.h"
#include "tern/hashtable.h"

/* The kinds of requests: of ops, and of operations by call. */
extern const tern_request_kind tern_op_request, tern_table_call_request;

/* Whether the outcome of an op is an answer and no error. */
static inline bool tern_op_is_answer(tern_status outcome) {
    return outcome == TERN_OK || outcome == TERN_ERR_NOT_FOUND || outcome == TERN_ERR_FULL;
}

/* Starts a copy of op and its key. TERN_ERR_AGAIN: all places are in use; TERN_ERR_MEMORY. */
tern_status tern_pool_start(tern_op *op, tern_request *request);

/* Before a table is destroyed: makes progress until none of the worker's ops is under way. */
void tern_pool_drain(tern_worker *worker, tern_hashtable *table);
/* Frees the pools of all workers, except rooms that MPI may still write to. */
void tern_pools_free(tern_hashtable *table);

/* tern_op_step for ops that progress or a batch drives: ends an op that waits for a dead rank. */
size_t tern_op_step_in_progress(tern_op *op);

/* Whether a worker, which does nothing else meanwhile, has ops in a pool or a pipeline that may
 * touch an array of the owner that is older than generation. */
bool tern_ops_hold(const tern_hashtable *table, uint32_t worker, uint32_t owner,
                   uint64_t generation);

/*
 * pipeline.c: several ops of one batch under way at once. They are begun and ended in order, and no
 * two changes of one key are under way together, so of several values the last stays.
 */

enum { TERN_PIPELINE_OPS = 16 };

typedef struct tern_op_pipeline {
    struct tern_op_pipeline *outer; /* of the same worker on the table */
    tern_worker *worker;
    tern_hashtable *table;
    size_t begun, ended;              /* in the order of ops */
    size_t number[TERN_PIPELINE_OPS]; /* of an op's item */
    tern_status failed;               /* the first error, */
    char text[240];                   /* and its text */
    char *places;                     /* ops; behind each one its key and its room */
} tern_op_pipeline;

/* TERN_ERR_MEMORY. */
tern_status tern_op_pipeline_open(tern_op_pipeline *pipeline, tern_worker *worker,
                                  tern_hashtable *table);
/* To be called when nothing is under way. Places that MPI may still write to are not freed. */
void tern_op_pipeline_close(tern_op_pipeline *pipeline);

/* Whether the pipeline takes an op of this kind on a key with this hash now. */
bool tern_op_pipeline_takes(const tern_op_pipeline *pipeline, const tern_op *op, uint64_t hash);
static inline bool tern_op_pipeline_is_empty(const tern_op_pipeline *pipeline) {
    return pipeline->ended == pipeline->begun;
}

/* Begins a copy of op. key: of the table's own size; copied, too. number: of its item. */
void tern_op_pipeline_begin(tern_op_pipeline *pipeline, const tern_op *op, const void *key,
                            size_t number);
/* Brings the oldest op to its end. [out] number: of its item. */
const tern_op *tern_op_pipeline_end(tern_op_pipeline *pipeline, size_t *number);

/* The first error of an op of the pipeline, with its text; or TERN_OK. */
tern_status tern_op_pipeline_failure(const tern_op_pipeline *pipeline);

bool tern_op_pipeline_holds(const tern_op_pipeline *pipeline, uint32_t owner, uint64_t generation);

#endif
