#include <stdio.h>
#include <stdlib.h>

#include "hashtable/op/pool.h"
#include "rma/transfer.h"

static size_t pipeline_step(const tern_hashtable *table) {
    return (sizeof(tern_op) + 8 * (size_t)table->shape.key_words + tern_op_room(table) + 63) / 64 *
           64;
}

static tern_op *pipeline_op(const tern_op_pipeline *w, size_t op) {
    return (tern_op *)(void *)(w->places + op % TERN_PIPELINE_OPS * pipeline_step(w->table));
}

tern_status tern_op_pipeline_open(tern_op_pipeline *pipeline, tern_worker *worker,
                                  tern_hashtable *table) {
    tern_table_inside *inside = &table->inside[worker->index];
    *pipeline = (tern_op_pipeline){.outer = inside->pipelines,
                                   .worker = worker,
                                   .table = table,
                                   .places = malloc(TERN_PIPELINE_OPS * pipeline_step(table))};
    if (pipeline->places == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %d operations under way",
                         TERN_PIPELINE_OPS);
    inside->pipelines = pipeline;
    return TERN_OK;
}

void tern_op_pipeline_close(tern_op_pipeline *pipeline) {
    bool leaks = false;
    for (size_t i = 0; i < pipeline->begun && i < TERN_PIPELINE_OPS; i++)
        leaks = leaks || tern_op_leaks_room(pipeline_op(pipeline, i));
    if (!leaks)
        free(pipeline->places);
    pipeline->table->inside[pipeline->worker->index].pipelines = pipeline->outer;
}

bool tern_op_pipeline_takes(const tern_op_pipeline *pipeline, const tern_op *op, uint64_t hash) {
    const bool changes = op->kind != TERN_OP_FIND;
    for (size_t i = pipeline->ended; i < pipeline->begun && changes; i++)
        if (pipeline_op(pipeline, i)->probe.hash == hash)
            return false;
    return pipeline->begun - pipeline->ended < TERN_PIPELINE_OPS;
}

/* Keeps the text of the first error, since other ops may overwrite it. */
static void pipeline_note(tern_op_pipeline *w, const tern_op *op) {
    if (op->stage == TERN_OP_DONE && w->failed == TERN_OK && !tern_op_is_answer(op->outcome)) {
        w->failed = op->outcome;
        snprintf(w->text, sizeof w->text, "%s", tern_error_detail());
    }
}

tern_status tern_op_pipeline_failure(const tern_op_pipeline *pipeline) {
    return pipeline->failed == TERN_OK ? TERN_OK
                                       : tern_fail(pipeline->failed, "%s", pipeline->text);
}

void tern_op_pipeline_begin(tern_op_pipeline *pipeline, const tern_op *op, const void *key,
                            size_t number) {
    tern_hashtable *table = pipeline->table;
    tern_op *mine = pipeline_op(pipeline, pipeline->begun);
    uint64_t *words = (uint64_t *)(void *)(mine + 1);
    tern_words_fill(words, table->shape.key_words, key, table->key_bytes);
    *mine = *op;
    mine->probe.key = words;
    mine->once = false;
    pipeline->number[pipeline->begun % TERN_PIPELINE_OPS] = number;
    tern_table_enter(pipeline->worker, table);
    tern_op_start(mine, words + table->shape.key_words);
    (void)tern_op_step(mine);
    pipeline_note(pipeline, mine);
    pipeline->begun++;
    tern_table_exit(pipeline->worker, table);
}

/* Makes progress, since others may wait for this worker: steps that need no trip make none. */
const tern_op *tern_op_pipeline_end(tern_op_pipeline *pipeline, size_t *number) {
    tern_worker *worker = pipeline->worker;
    tern_op *op = pipeline_op(pipeline, pipeline->ended);
    tern_wait_state wait = TERN_WAIT_IN("a batch on a hash table");
    while (op->stage != TERN_OP_DONE) {
        tern_op_await(op);
        pipeline_note(pipeline, op);
        for (size_t i = pipeline->ended; i < pipeline->begun; i++) {
            tern_op *each = pipeline_op(pipeline, i);
            if (each->stage == TERN_OP_DONE)
                continue;
            (void)tern_op_step_in_progress(each);
            pipeline_note(pipeline, each);
        }
        if (op->stage == TERN_OP_DONE || op->transfer.under_way)
            continue;
        (void)tern_puts_deliver(worker);
        (void)tern_progress_round(worker);
        if (op->waits) {
            const tern_status status =
                tern_wait_step(worker->context, &wait, tern_state_writer(op->state));
            if (status != TERN_OK) {
                tern_op_finish(op, status);
                pipeline_note(pipeline, op);
            }
        }
    }
    *number = pipeline->number[pipeline->ended++ % TERN_PIPELINE_OPS];
    return op;
}

bool tern_op_pipeline_holds(const tern_op_pipeline *pipeline, uint32_t owner, uint64_t generation) {
    for (size_t i = pipeline->ended; i < pipeline->begun; i++) {
        const tern_op *op = pipeline_op(pipeline, i);
        if (op->stage != TERN_OP_DONE && tern_op_holds(op, owner, generation))
            return true;
    }
    return false;
}
