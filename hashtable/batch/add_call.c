#include "hashtable/batch/batch.h"

#include "hashtable/batch/combine.h"

/* Many adds by calls. An owner that meets a bucket which another origin is just writing must not
 * wait: it stops there, and the rest of the piece is sent again. */

enum { IN_FLIGHT = 32 };

typedef struct add_batch {
    tern_scatter scatter;
    size_t added;
    bool far_put;
} add_batch;

typedef struct add_reply {
    uint32_t done;  /* keys gone through */
    uint32_t added; /* of these, counted; the others found no room */
} add_reply;

static tern_status tern_hashtable_on_add_many(tern_call_info *call, const void *message,
                                              size_t bytes) {
    const tern_piece_head *head = message;
    tern_hashtable *table;
    size_t count, done, added;
    bool far_put = false;
    tern_status status = tern_piece_read(call, message, bytes, TERN_ITEM_KEY, &table, &count);
    if (status == TERN_OK && !tern_shape_counts(table->shape))
        status = tern_fail(TERN_ERR_ARGUMENT, "a batch of adds to a table of values");
    if (status != TERN_OK)
        return status;
    status = tern_batch_add_many(call->worker, table, head + 1, 8 * table->shape.key_words, count,
                                 head->word, table->rank, &done, &added, &far_put);
    /* A failure with keys behind it is told as progress: the caller sends the rest again, and a
     * lasting one then comes first. */
    if (status != TERN_OK && done == 0)
        return status;
    const add_reply reply = {(uint32_t)done, (uint32_t)added};
    memcpy(call->result, &reply, sizeof reply);
    call->result_bytes = sizeof reply;
    return TERN_OK;
}
TERN_FUNCTION(tern_hashtable_on_add_many)

static tern_status adds_take(tern_scatter *scatter, tern_scatter_piece *piece, const void *message,
                             size_t bytes, uint32_t *done) {
    add_batch *batch = (add_batch *)(void *)scatter;
    add_reply reply;
    (void)piece;
    if (bytes != sizeof reply)
        return TERN_OK; /* which makes no sense */
    memcpy(&reply, message, sizeof reply);
    if (reply.added > reply.done)
        return TERN_OK;
    batch->added += reply.added;
    *done = reply.done;
    return TERN_OK;
}

/* Waits where a handler would not. */
static tern_status adds_here(tern_scatter *scatter, tern_scatter_piece *piece) {
    add_batch *batch = (add_batch *)(void *)scatter;
    tern_hashtable *table = scatter->table;
    size_t done, added;
    tern_status status = tern_batch_add_many(
        scatter->worker, table, piece->words, 8 * table->shape.key_words, piece->count,
        scatter->word, piece->owner, &done, &added, &batch->far_put);
    batch->added += added;
    return status;
}

static const tern_scatter_ops add_ops = {&tern_hashtable_on_add_many_function, false,
                                         TERN_RESULT_MAX, adds_here, adds_take};

static tern_status add_combined(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                                uint64_t delta, bool local_in_place, size_t *added) {
    tern_insert_batch batch;
    tern_status status =
        tern_insert_batch_begin(&batch, worker, table, delta, items->count, IN_FLIGHT);
    if (status != TERN_OK)
        return status;
    batch.scatter.local_in_place = local_in_place;
    status = tern_insert_batch_run(&batch, items);
    tern_scatter_end(&batch.scatter);
    *added = batch.stored;
    return status;
}

tern_status tern_call_add_many(tern_worker *worker, tern_hashtable *table, const char *keys,
                               size_t count, uint64_t delta, bool local_in_place, size_t *added,
                               bool *far_put) {
    /* The values are not looked at: every key adds delta. */
    const tern_items items = {
        .keys = keys, .values = keys, .key_step = table->key_bytes, .count = count};
    if (delta != 0 && tern_batch_combines(table, &items)) {
        *far_put = local_in_place;
        return add_combined(worker, table, &items, delta, local_in_place, added);
    }
    add_batch batch = {.added = 0};
    tern_status status = tern_scatter_begin(&batch.scatter, worker, table, &add_ops,
                                            table->shape.key_words, 0, count, IN_FLIGHT);
    if (status != TERN_OK)
        return status;
    batch.scatter.word = delta;
    batch.scatter.local_in_place = local_in_place;
    status = tern_scatter_keys(&batch.scatter, keys, count);
    (void)tern_scatter_wait(&batch.scatter);
    tern_status failed = tern_scatter_failure(&batch.scatter);
    tern_scatter_end(&batch.scatter);
    *added = batch.added;
    *far_put = batch.far_put;
    return failed != TERN_OK ? failed : status;
}
