#include "hashtable/batch/run.h"
#include "hashtable/op/pool.h"

enum { ITEMS_PER_PROGRESS = 1024 };

typedef struct pipeline_batch {
    tern_op_pipeline pipeline;
    const tern_items *items;
    tern_outcomes *out;
} pipeline_batch;

/* Ends the oldest op of the pipeline. Its error ends the batch. */
static tern_status pipeline_end_one(pipeline_batch *b) {
    size_t number;
    const tern_op *op = tern_op_pipeline_end(&b->pipeline, &number);
    return tern_outcome_note(b->out, b->items, number, op->outcome) ? TERN_OK : op->outcome;
}

/* Begins the op of an item as soon as the pipeline takes it. */
static tern_status pipeline_add(pipeline_batch *b, size_t i) {
    tern_op_pipeline *w = &b->pipeline;
    const char *key = b->items->keys + i * b->items->key_step;
    const uint64_t hash = tern_hash_of_bytes(w->table, key);
    const bool finds = b->items->kind == TERN_OP_FIND;
    tern_status status = TERN_OK;
    tern_op op;
    tern_items_op(b->items, i, &op);
    if (finds)
        op.taken = tern_outcome_value(b->out, w->table, i);
    while (!tern_op_pipeline_takes(w, &op, hash) && status == TERN_OK)
        status = pipeline_end_one(b);
    if (status != TERN_OK)
        return status;
    tern_op_init(&op, (tern_op_kind)op.kind, w->worker, w->table, NULL, hash,
                 finds ? b->items->promise : TERN_WRITE_ONLY);
    tern_op_pipeline_begin(w, &op, key, i);
    if (i % ITEMS_PER_PROGRESS == ITEMS_PER_PROGRESS - 1)
        (void)tern_progress_round(w->worker);
    return TERN_OK;
}

/* Ends all ops and closes the pipeline, after an error, too: ops under way write into it. */
static tern_status pipeline_finish(pipeline_batch *b, tern_status status) {
    while (!tern_op_pipeline_is_empty(&b->pipeline)) {
        const tern_status last = pipeline_end_one(b);
        status = status == TERN_OK ? last : status;
    }
    tern_op_pipeline_close(&b->pipeline);
    if (status == TERN_OK)
        tern_error_clear();
    return status == TERN_OK ? TERN_OK : tern_op_pipeline_failure(&b->pipeline);
}

tern_status tern_items_pipeline(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                                tern_outcomes *out) {
    const bool finds = items->kind == TERN_OP_FIND;
    pipeline_batch batch = {.items = items, .out = out};
    /* Ops that lock their bucket are done one after the other. */
    if (!finds && !table->owners_put)
        return tern_items_run(worker, table, items, out);
    out->done = out->stored = 0;
    tern_status status = tern_op_pipeline_open(&batch.pipeline, worker, table);
    if (status != TERN_OK)
        return status;
    for (size_t i = 0; i < items->count && status == TERN_OK; i++)
        status = pipeline_add(&batch, i);
    status = pipeline_finish(&batch, status);
    if (status == TERN_OK)
        out->done = items->count;
    if (!finds)
        tern_entries_take_effect();
    return status;
}
