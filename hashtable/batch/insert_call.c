#include "hashtable/batch/batch.h"

#include <stdio.h>

#include "hashtable/batch/deferred.h"
#include "hashtable/batch/run.h"

/* What the owner answers: an error ends the batch, with what it says. */
typedef struct insert_reply {
    uint32_t done;   /* items gone through */
    uint32_t stored; /* of these; the others found no room */
    uint32_t status;
    char text[256];
} insert_reply;

static tern_items items_of(const tern_hashtable *table, const uint64_t *words, size_t count) {
    size_t step = 8 * ((size_t)table->shape.key_words + tern_item_value_words(table));
    const char *keys = (const char *)words;
    return (tern_items){keys, keys + 8 * (size_t)table->shape.key_words, step, step, count, true};
}

static tern_items inserts_skip(tern_items items, size_t count) {
    items.keys += count * items.key_step;
    items.values += count * items.value_step;
    items.count -= count;
    return items;
}

static void inserts_answer(tern_call_info *call, tern_status status, size_t done, size_t stored) {
    insert_reply reply = {(uint32_t)done, (uint32_t)stored, (uint32_t)status, ""};
    if (status != TERN_OK)
        snprintf(reply.text, sizeof reply.text, "%s", tern_error_detail());
    call->result_bytes = status != TERN_OK ? sizeof reply : offsetof(insert_reply, text);
    memcpy(call->result, &reply, call->result_bytes);
}

static tern_status tern_hashtable_on_insert_many(tern_call_info *call, const void *message,
                                                 size_t bytes) {
    tern_hashtable *table;
    size_t count, done, stored, more = 0, kept = 0;
    tern_status status = tern_piece_read(call, message, bytes, true, &table, &count);
    if (status != TERN_OK)
        return status;
    const uint64_t *words = (const uint64_t *)(const void *)((const tern_piece_head *)message + 1);
    tern_deferred_take(call, table, &done, &stored);
    if (done > count)
        return tern_fail(TERN_ERR_ARGUMENT, "a batch of inserts has changed");
    tern_items items = inserts_skip(items_of(table, words, count), done);
    status = tern_run_insert(call->worker, table, &items, &more, &kept);
    done += more;
    stored += kept;
    if (status == TERN_ERR_AGAIN) {
        if (done == 0 || tern_deferred_put(call, table, done, stored))
            return status;
        status = tern_fail(TERN_ERR_MEMORY, "no memory to park a batch of inserts");
    }
    inserts_answer(call, status, done, stored);
    return TERN_OK;
}
TERN_FUNCTION(tern_hashtable_on_insert_many)

static tern_status inserts_take(tern_scatter *scatter, tern_scatter_piece *piece, const void *reply,
                                size_t bytes, uint32_t *done) {
    tern_insert_batch *batch = (tern_insert_batch *)(void *)scatter;
    insert_reply r = {0};
    if (bytes < offsetof(insert_reply, text) || bytes > sizeof r)
        return TERN_OK; /* which makes no sense */
    memcpy(&r, reply, bytes);
    r.text[sizeof r.text - 1] = 0;
    if (r.done > piece->count || r.stored > r.done ||
        (r.status == TERN_OK && r.done < piece->count))
        return TERN_OK;
    batch->stored += r.stored;
    batch->refused += r.done - r.stored;
    *done = piece->count;
    return r.status == TERN_OK
               ? TERN_OK
               : tern_fail((tern_status)r.status, "rank %u: %s", piece->owner, r.text);
}

/* Waits where a handler would not. */
static tern_status inserts_here(tern_scatter *scatter, tern_scatter_piece *piece) {
    tern_insert_batch *batch = (tern_insert_batch *)(void *)scatter;
    tern_items items = items_of(scatter->table, piece->words, piece->count);
    size_t done, stored;
    items.own = piece->owner == scatter->table->rank;
    tern_status status = tern_run_insert(scatter->worker, scatter->table, &items, &done, &stored);
    batch->stored += stored;
    batch->refused += done - stored;
    return status;
}

static const tern_scatter_ops insert_ops = {&tern_hashtable_on_insert_many_function, false,
                                            inserts_here, inserts_take};

static size_t item_words(const tern_hashtable *table) {
    return (size_t)table->shape.key_words + tern_item_value_words(table);
}

static size_t piece_of_one(const tern_hashtable *table) {
    return sizeof(tern_piece_head) + 8 * item_words(table);
}

bool tern_insert_batch_fits(const tern_hashtable *table) {
    return piece_of_one(table) <= tern_call_room(table->context);
}

tern_status tern_insert_batch_check(const tern_hashtable *table) {
    if (tern_insert_batch_fits(table))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "an insert by call takes %zu bytes and a ring takes %zu at a time; raise "
                     "TERN_RING_SIZE (now %zu) or pass TERN_BY_RMA",
                     piece_of_one(table), tern_call_room(table->context),
                     table->context->config.ring_size);
}

tern_status tern_insert_batch_begin(tern_insert_batch *batch, tern_worker *worker,
                                    tern_hashtable *table, size_t expected, uint32_t limit) {
    batch->stored = batch->refused = 0;
    tern_status status = tern_insert_batch_check(table);
    if (status != TERN_OK)
        return status;
    return tern_scatter_begin(&batch->scatter, worker, table, &insert_ops, item_words(table), 0,
                              expected, limit);
}

tern_status tern_insert_batch_gather(tern_insert_batch *batch, const void *key, const void *value,
                                     uint32_t *owner) {
    const tern_hashtable *table = batch->scatter.table;
    *owner = tern_hash_owner(table, tern_hash_of_bytes(table, key));
    uint64_t *words;
    tern_status status = tern_scatter_item(&batch->scatter, *owner, 0, &words);
    if (status != TERN_OK)
        return status;
    const uint32_t key_words = table->shape.key_words, value_words = tern_item_value_words(table);
    const size_t value_bytes = tern_shape_counts(table->shape) ? 8 : table->value_bytes;
    if (table->key_bytes == 8)
        memcpy(words, key, 8);
    else
        tern_words_fill(words, key_words, key, table->key_bytes);
    if (value_bytes == 8)
        memcpy(words + key_words, value, 8);
    else
        tern_words_fill(words + key_words, value_words, value, value_bytes);
    return TERN_OK;
}
