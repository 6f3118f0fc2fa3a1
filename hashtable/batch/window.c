#include "hashtable/batch/run.h"
#include "hashtable/op/pool.h"

enum { ITEMS_PER_PROGRESS = 1024 };

/* Begins the op of an item as soon as the window takes it. ended: is told of each op that has come
 * to its end; an error of it ends the batch. */
typedef tern_status window_ended(void *batch, const tern_op *op, size_t number);

static tern_status window_end_one(tern_op_window *w, window_ended *ended, void *batch) {
    size_t number;
    const tern_op *op = tern_op_window_end(w, &number);
    return ended(batch, op, number);
}

static tern_status window_add(tern_op_window *w, tern_op *op, const tern_items *items, size_t i,
                              tern_flags promise, window_ended *ended, void *batch) {
    const char *key = items->keys + i * items->key_step;
    const uint64_t hash = tern_hash_of_bytes(w->table, key);
    tern_status status = TERN_OK;
    while (!tern_op_window_takes(w, op, hash) && status == TERN_OK)
        status = window_end_one(w, ended, batch);
    if (status != TERN_OK)
        return status;
    tern_op_init(op, (tern_op_kind)op->kind, w->worker, w->table, NULL, hash, promise);
    tern_op_window_begin(w, op, key, i);
    if (i % ITEMS_PER_PROGRESS == ITEMS_PER_PROGRESS - 1)
        (void)tern_progress_round(w->worker);
    return TERN_OK;
}

/* Whatever happened: what is under way writes into the window. */
static tern_status window_finish(tern_op_window *w, tern_status status, window_ended *ended,
                                 void *batch) {
    while (!tern_op_window_is_empty(w)) {
        const tern_status last = window_end_one(w, ended, batch);
        status = status == TERN_OK ? last : status;
    }
    tern_op_window_close(w);
    if (status == TERN_OK)
        tern_error_clear();
    return status == TERN_OK ? TERN_OK : tern_op_window_failure(w);
}

typedef struct inserts {
    const tern_items *items;
    size_t *stored;
} inserts;

static tern_status insert_ended(void *batch, const tern_op *op, size_t number) {
    const inserts *b = batch;
    if (op->outcome == TERN_OK)
        *b->stored += tern_items_keys(b->items, number);
    return op->outcome == TERN_ERR_FULL ? TERN_OK : op->outcome;
}

tern_status tern_window_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                               size_t *stored) {
    inserts batch = {items, stored};
    tern_op_window w;
    size_t done;
    *stored = 0;
    if (!table->owners_put) /* an op locks its bucket, and so is brought to its end at once */
        return tern_run_insert(worker, table, items, &done, stored);
    tern_status status = tern_op_window_open(&w, worker, table);
    if (status != TERN_OK)
        return status;
    for (size_t i = 0; i < items->count && status == TERN_OK; i++) {
        tern_op op;
        tern_items_op(items, i, table, &op);
        status = window_add(&w, &op, items, i, TERN_WRITE_ONLY, insert_ended, &batch);
    }
    status = window_finish(&w, status, insert_ended, &batch);
    tern_entries_take_effect();
    return status;
}

typedef struct finds {
    unsigned char *found;
    size_t *present;
} finds;

static tern_status find_ended(void *batch, const tern_op *op, size_t number) {
    const finds *b = batch;
    *b->present += op->outcome == TERN_OK;
    if (b->found != NULL)
        b->found[number] = op->outcome == TERN_OK;
    return op->outcome == TERN_ERR_NOT_FOUND ? TERN_OK : op->outcome;
}

tern_status tern_window_find(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                             tern_flags promise, char *values, unsigned char *found,
                             size_t *present) {
    finds batch = {found, present};
    tern_op_window w;
    *present = 0;
    tern_status status = tern_op_window_open(&w, worker, table);
    if (status != TERN_OK)
        return status;
    for (size_t i = 0; i < items->count && status == TERN_OK; i++) {
        tern_op op = {.kind = TERN_OP_FIND, .taken = values + i * tern_found_bytes(table)};
        status = window_add(&w, &op, items, i, promise, find_ended, &batch);
    }
    return window_finish(&w, status, find_ended, &batch);
}
