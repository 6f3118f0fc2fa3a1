#include "hashtable/batch/ask.h"

#include "hashtable/batch/combine.h"
#include "hashtable/bucket/scratch.h"
#include "src/progress/wait.h"

TERN_FUNCTION(tern_hashtable_on_ops)

/* ---- One op ---- */

tern_status tern_op_call(tern_op *op, tern_request *request) {
    const tern_hashtable *table = op->probe.table;
    const tern_shape s = table->shape;
    const size_t bytes = tern_bundle_bytes(table, op->kind, TERN_BUNDLE_ALONE, 1),
                 result = tern_op_result_bytes(table, op->kind),
                 numbers = tern_bundle_numbers(op->kind, TERN_BUNDLE_ALONE);
    const tern_worker_id to = tern_table_worker(table, tern_hash_owner(table, op->probe.hash));
    tern_scratch scratch;
    uint64_t *message = tern_scratch_take(&scratch, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const tern_bundle_head head = {
        .head = tern_table_head_to(table), .kind = op->kind, .form = TERN_BUNDLE_ALONE, .count = 1};
    memcpy(message, &head, sizeof head);
    uint64_t *words = message + sizeof head / 8;
    const uint64_t number[] = {op->number, op->desired};
    memcpy(words, number, 8 * numbers);
    words += numbers;
    memcpy(words, op->probe.key, 8 * (size_t)s.key_words);
    if (tern_op_inserts(op->kind))
        tern_words_fill(words + s.key_words, s.value_words, op->given, table->value_bytes);
    void *there = op->kind == TERN_OP_FIND ? op->taken
                  : request != NULL        ? &request->result
                                           : &op->result;
    size_t got = result;
    op->result = 0;
    const tern_status status =
        request != NULL ? tern_call_start(op->probe.worker, to, &tern_hashtable_on_ops_function,
                                          message, bytes, there, result, request)
                        : tern_call_return(op->probe.worker, to, &tern_hashtable_on_ops_function,
                                           message, bytes, there, result, &got);
    tern_scratch_free(&scratch);
    if (status == TERN_OK && request != NULL)
        tern_answer_request_all(request);
    return tern_answer_check_size(status, got, result);
}

/* ---- Answers to a batch ---- */

/*
 * The owner answers with a byte for each key of a find in the reply, and behind them the values
 * where they fit. Where they do not, both travel in a call of their own to the origin, made before
 * the reply is given, and the origin waits for both. That call runs in the progress that the batch
 * makes while it waits, hence in its thread, and finds the batch by this thread-local variable.
 */
static _Thread_local tern_item_batch *waiting;

static bool batch_finds(const tern_item_batch *b) { return b->scatter.head.kind == TERN_OP_FIND; }

/* Whether found has a 0 or 1 for each of done items, and value_bytes are those of exactly the
 * values that were found. [out] present: how many. */
static bool found_is_whole(const tern_item_batch *b, const unsigned char *found, size_t done,
                           size_t value_bytes, size_t *present) {
    unsigned char all = 0;
    *present = 0;
    for (size_t i = 0; i < done; i++) {
        all |= found[i];
        *present += found[i];
    }
    return all <= 1 && value_bytes == *present * tern_found_bytes(b->scatter.table);
}

/* Copies flags and values of the first done items of a bundle to their places. packed: values. */
static void batch_place(tern_item_batch *b, const tern_scatter_bundle *bundle,
                        const unsigned char *found, size_t done, const char *packed) {
    const size_t step = tern_found_bytes(b->scatter.table);
    for (size_t i = 0; i < done; i++) {
        const size_t place = bundle->number[i];
        if (b->found != NULL)
            b->found[place] = found[i];
        if (!found[i])
            continue;
        if (step == 8)
            memcpy(b->values + place * 8, packed, 8);
        else if (step > 0)
            memcpy(b->values + place * step, packed, step);
        packed += step;
        b->stored++;
    }
}

/* Takes the call with found values. If its batch has failed meanwhile, the values are dropped. */
tern_status tern_hashtable_on_values(tern_call_info *call, const void *message, size_t bytes) {
    tern_found_late v; /* a copy: what is checked stays as it is */
    if (bytes < sizeof v)
        return tern_fail(TERN_ERR_ARGUMENT, "found values in %zu bytes; they take %zu or more",
                         bytes, sizeof v);
    memcpy(&v, message, sizeof v);
    if (waiting == NULL || waiting->scatter.worker != call->worker || !batch_finds(waiting))
        return TERN_OK;
    tern_scatter_bundle *bundle = waiting->scatter.first;
    while (bundle != NULL && bundle->head.number != v.number)
        bundle = bundle->next;
    if (bundle == NULL || bundle->landed > 0)
        return TERN_OK;
    size_t present;
    if (bundle->owner != call->origin.rank || v.done == 0 || v.done > bundle->count ||
        !found_is_whole(waiting, v.found, v.done, bytes - sizeof v, &present))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "found values of %u items in %zu bytes, which is not what rank %u was "
                         "asked for",
                         v.done, bytes, bundle->owner);
    batch_place(waiting, bundle, v.found, v.done, (const char *)message + sizeof v);
    bundle->landed = v.done;
    return TERN_OK;
}

static tern_status wait_for_values(tern_worker *worker, const tern_scatter_bundle *bundle) {
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status = TERN_OK;
    while (status == TERN_OK && bundle->landed == 0) {
        (void)tern_progress_round(worker);
        if (bundle->landed == 0)
            status = tern_wait_step(worker->context, &wait, bundle->owner);
    }
    return status;
}

/* Takes the reply to finds. [out] done: as in batch_take. */
static tern_status finds_take(tern_item_batch *b, tern_scatter_bundle *bundle,
                              const tern_bundle_reply *r, size_t rest, uint32_t *done) {
    const unsigned char *found = (const unsigned char *)r->rest;
    size_t present;
    if (r->late != 0) {
        const tern_status status = wait_for_values(b->scatter.worker, bundle);
        if (status == TERN_OK && bundle->landed == r->done)
            *done = r->done;
        return status;
    }
    if (bundle->landed > 0 || r->done > rest ||
        !found_is_whole(b, found, r->done, rest - r->done, &present))
        return TERN_OK;
    batch_place(b, bundle, found, r->done, r->rest + r->done);
    *done = r->done;
    return TERN_OK;
}

static uint64_t bundle_keys(const tern_scatter_bundle *bundle, size_t items) {
    uint64_t keys = 0;
    for (size_t i = 0; i < items; i++)
        keys += bundle->number[i];
    return keys;
}

/* Counts the keys of the first items of a bundle of changes. False: fewer keys than stored. */
static bool batch_count(tern_item_batch *b, const tern_scatter_bundle *bundle, size_t items,
                        size_t stored) {
    const uint64_t keys = bundle_keys(bundle, items);
    if (stored > keys)
        return false;
    b->stored += stored;
    b->refused += keys - stored;
    return true;
}

/* Takes the reply to a bundle. [out] done: stays 0 if no owner can have sent the reply. */
static tern_status batch_take(tern_scatter *scatter, tern_scatter_bundle *bundle, const void *reply,
                              size_t bytes, uint32_t *done) {
    tern_item_batch *b = (tern_item_batch *)(void *)scatter;
    tern_bundle_reply r;
    if (bytes < TERN_BUNDLE_REPLY || bytes > sizeof r)
        return TERN_OK;
    memcpy(&r, reply, bytes);
    const size_t rest = bytes - TERN_BUNDLE_REPLY;
    if (r.done > bundle->count || r.status >= TERN_STATUS_COUNT || r.status == TERN_ERR_AGAIN)
        return TERN_OK;
    if (r.status == TERN_OK && batch_finds(b))
        return finds_take(b, bundle, &r, rest, done);
    if (r.status == TERN_OK && (r.done < bundle->count || rest > 0))
        return TERN_OK;
    if (!batch_finds(b) && !batch_count(b, bundle, r.done, r.stored))
        return TERN_OK;
    *done = bundle->count;
    return r.status == TERN_OK ? TERN_OK
                               : tern_fail((tern_status)r.status, "rank %u: %.*s", bundle->owner,
                                           (int)rest, r.rest);
}

/* Does a bundle in place. It may wait for other ranks, as a handler may not. */
static tern_status batch_in_place(tern_scatter *scatter, tern_scatter_bundle *bundle) {
    tern_item_batch *b = (tern_item_batch *)(void *)scatter;
    tern_items items = tern_items_of(scatter->table, &bundle->head, bundle->words);
    tern_outcomes out = {.values = b->values, .found = b->found, .place = bundle->number};
    items.count = bundle->count;
    items.owner = bundle->owner;
    const tern_status status =
        tern_items_without_calls(scatter->worker, scatter->table, &items, &out);
    /* After an error a pipeline does not say which items are done. */
    if (batch_finds(b) || !batch_count(b, bundle, out.done, out.stored))
        b->stored += out.stored;
    return status;
}

static const tern_scatter_ops batch_ops = {&tern_hashtable_on_ops_function, TERN_RESULT_MAX,
                                           batch_in_place, batch_take};

/* ---- A batch ---- */

/* Bytes of the largest message that one item takes. */
static size_t batch_least(const tern_hashtable *table, uint8_t kind, uint8_t form) {
    const size_t asks = tern_bundle_bytes(table, kind, form, 1),
                 answers =
                     kind == TERN_OP_FIND ? sizeof(tern_found_late) + tern_found_bytes(table) : 0;
    return asks > answers ? asks : answers;
}

tern_path_question tern_items_question(tern_worker *worker, const tern_hashtable *table,
                                       uint8_t kind, uint8_t form, uint32_t owner, tern_flags flags,
                                       const char *name) {
    tern_path_question q = tern_table_question(worker, table, owner, flags, name);
    q.kind = kind == TERN_OP_FIND              ? TERN_PATH_FIND_MANY
             : tern_shape_counts(table->shape) ? TERN_PATH_ADD_MANY
                                               : TERN_PATH_INSERT_MANY;
    q.message = batch_least(table, kind, form);
    q.result = kind == TERN_OP_FIND ? tern_found_bytes(table) : 0;
    return q;
}

bool tern_item_batch_fits(const tern_hashtable *table, uint8_t kind, uint8_t form) {
    return batch_least(table, kind, form) <= tern_call_room(table->context);
}

tern_status tern_item_batch_begin(tern_item_batch *batch, tern_worker *worker,
                                  tern_hashtable *table, uint8_t kind, uint8_t form,
                                  const uint64_t *number, size_t expected, uint32_t limit) {
    batch->stored = batch->refused = 0;
    batch->values = NULL;
    batch->found = NULL;
    return tern_scatter_begin(&batch->scatter, worker, table, &batch_ops, kind, form, number,
                              kind == TERN_OP_FIND ? tern_found_bytes(table) : 0, expected, limit);
}

TERN_ALWAYS_INLINE tern_status batch_gather(tern_item_batch *batch, const void *key,
                                            const void *value, size_t number, uint32_t *owner) {
    tern_scatter *scatter = &batch->scatter;
    const tern_hashtable *table = scatter->table;
    const uint32_t key_words = table->shape.key_words;
    *owner = tern_hash_owner(table, tern_hash_of_bytes(table, key));
    uint64_t *words;
    tern_status status = tern_scatter_item(scatter, *owner, number, scatter->item_words, &words);
    if (status != TERN_OK)
        return status;
    if (table->key_bytes == 8)
        memcpy(words, key, 8);
    else
        tern_words_fill(words, key_words, key, table->key_bytes);
    if (scatter->item_words == key_words)
        return TERN_OK;
    const bool inserts = tern_op_inserts(scatter->head.kind);
    if (scatter->head.form & TERN_BUNDLE_COUNTED)
        words[scatter->item_words - 1] = number;
    if ((scatter->head.form & TERN_BUNDLE_NUMBERED) || (inserts && table->value_bytes == 8))
        memcpy(words + key_words, value, 8);
    else if (inserts)
        tern_words_fill(words + key_words, table->shape.value_words, value, table->value_bytes);
    return TERN_OK;
}

tern_status tern_item_batch_gather(tern_item_batch *batch, const void *key, const void *value,
                                   size_t number, uint32_t *owner) {
    return batch_gather(batch, key, value, number, owner);
}

TERN_ALWAYS_INLINE tern_status batch_give(tern_item_batch *batch, const tern_items *items,
                                          size_t item, size_t number) {
    uint32_t owner;
    const char *value = items->values == NULL ? NULL : items->values + item * items->value_step;
    const tern_status status =
        batch_gather(batch, items->keys + item * items->key_step, value, number, &owner);
    return status == TERN_OK ? tern_scatter_written(&batch->scatter, owner) : status;
}

static tern_status batch_give_combined(tern_item_batch *batch, const tern_items *items) {
    tern_combined combined[TERN_COMBINE_KEYS];
    tern_status status = TERN_OK;
    for (size_t at = 0; at < items->count && status == TERN_OK; at += TERN_COMBINE_KEYS) {
        const size_t left = items->count - at,
                     count = left < TERN_COMBINE_KEYS ? left : TERN_COMBINE_KEYS;
        const size_t keys = tern_batch_combine(items->keys + at * items->key_step, items->key_step,
                                               batch->scatter.table->key_bytes, count, combined);
        for (size_t i = 0; i < keys && status == TERN_OK; i++)
            status = batch_give(batch, items, at + combined[i].item, combined[i].count);
    }
    return status;
}

static tern_status batch_give_all(tern_item_batch *batch, const tern_items *items) {
    const bool finds = items->kind == TERN_OP_FIND;
    tern_status status = TERN_OK;
    if (batch->scatter.head.form & TERN_BUNDLE_COUNTED)
        status = batch_give_combined(batch, items);
    else
        for (size_t i = 0; i < items->count && status == TERN_OK; i++)
            status = batch_give(batch, items, i, finds ? i : 1);
    return status == TERN_OK ? tern_scatter_send(&batch->scatter) : status;
}

tern_status tern_items_ask(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                           tern_flags flags, tern_outcomes *out) {
    enum { IN_FLIGHT = 32 };

    const bool adds = items->kind == TERN_OP_ADD;
    /* Items that add numbers of their own are not combined. */
    const uint8_t form = adds && items->values != NULL       ? TERN_BUNDLE_NUMBERED
                         : tern_batch_combines(table, items) ? TERN_BUNDLE_COUNTED
                                                             : 0;
    tern_item_batch batch;
    tern_status status = tern_item_batch_begin(&batch, worker, table, items->kind, form,
                                               &items->number, items->count, IN_FLIGHT);
    if (status != TERN_OK)
        return status;
    batch.scatter.flags = flags;
    batch.values = out->values;
    batch.found = out->found;
    tern_item_batch *outer = waiting; /* of another worker that this thread has adopted */
    waiting = &batch;
    status = batch_give_all(&batch, items);
    /* Waits even after an error: answers still come for the batch, which lies in this frame. */
    (void)tern_scatter_wait(&batch.scatter);
    waiting = outer;
    const tern_status failed = tern_scatter_failure(&batch.scatter);
    tern_scatter_end(&batch.scatter);
    out->stored = batch.stored;
    return failed != TERN_OK ? failed : status;
}
