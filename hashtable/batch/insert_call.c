#include "hashtable/batch/batch.h"

#include <stdio.h>

#include "hashtable/batch/combine.h"
#include "hashtable/batch/deferred.h"
#include "hashtable/batch/run.h"

/* What the owner answers: an error ends the batch, with what it says. */
typedef struct insert_reply {
    uint32_t done;   /* items gone through */
    uint32_t stored; /* keys of these; the others found no room */
    uint32_t status;
    char text[256];
} insert_reply;

/* each: as of tern_insert_batch_begin, which the word in a message's head says. */
static tern_item_kind kind_of(uint64_t each) {
    return each != 0 ? TERN_ITEM_COMBINED : TERN_ITEM_VALUE;
}

static tern_items items_of(const tern_hashtable *table, const uint64_t *words, size_t count,
                           uint64_t each) {
    const size_t step = 8 * tern_item_words(table, kind_of(each));
    const char *keys = (const char *)words;
    return (tern_items){.keys = keys,
                        .values = keys + 8 * (size_t)table->shape.key_words,
                        .key_step = step,
                        .value_step = step,
                        .count = count,
                        .own = true,
                        .counts = each != 0 ? keys + step - 8 : NULL,
                        .each = each};
}

/* Keys that the first items of a piece are for. */
static uint64_t piece_keys(const tern_scatter_piece *piece, uint32_t items) {
    uint64_t keys = 0;
    for (uint32_t i = 0; i < items; i++)
        keys += piece->number[i];
    return keys;
}

static tern_items inserts_skip(tern_items items, size_t count) {
    items.keys += count * items.key_step;
    items.values += count * items.value_step;
    items.counts = items.counts == NULL ? NULL : items.counts + count * items.value_step;
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
    size_t count, more = 0, kept = 0;
    struct {
        size_t done, stored;
    } all = {0, 0};
    const tern_piece_head *head = message;
    const uint64_t each = bytes < sizeof *head ? 0 : head->word;
    tern_status status = tern_piece_read(call, message, bytes, kind_of(each), &table, &count);
    if (status != TERN_OK)
        return status;
    const uint64_t *words = (const uint64_t *)(const void *)(head + 1);
    (void)tern_deferred_take(call, table, &all, sizeof all);
    if (all.done > count)
        return tern_fail(TERN_ERR_ARGUMENT, "a batch of inserts has changed");
    tern_items items = inserts_skip(items_of(table, words, count, each), all.done);
    status = tern_run_insert(call->worker, table, &items, &more, &kept);
    all.done += more;
    all.stored += kept;
    if (status == TERN_ERR_AGAIN) {
        if (all.done == 0 || tern_deferred_put(call, table, &all, sizeof all))
            return status;
        status = tern_fail(TERN_ERR_MEMORY, "no memory to park a batch of inserts");
    }
    inserts_answer(call, status, all.done, all.stored);
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
    if (r.done > piece->count || (r.status == TERN_OK && r.done < piece->count))
        return TERN_OK;
    const uint64_t keys = piece_keys(piece, r.done);
    if (r.stored > keys)
        return TERN_OK;
    batch->stored += r.stored;
    batch->refused += keys - r.stored;
    *done = piece->count;
    return r.status == TERN_OK
               ? TERN_OK
               : tern_fail((tern_status)r.status, "rank %u: %s", piece->owner, r.text);
}

/* Waits where a handler would not. */
static tern_status inserts_here(tern_scatter *scatter, tern_scatter_piece *piece) {
    tern_insert_batch *batch = (tern_insert_batch *)(void *)scatter;
    tern_items items = items_of(scatter->table, piece->words, piece->count, scatter->word);
    size_t done, stored;
    items.own = piece->owner == scatter->table->rank;
    tern_status status = tern_run_insert(scatter->worker, scatter->table, &items, &done, &stored);
    batch->stored += stored;
    batch->refused += piece_keys(piece, (uint32_t)done) - stored;
    return status;
}

static const tern_scatter_ops insert_ops = {&tern_hashtable_on_insert_many_function, false,
                                            TERN_RESULT_MAX, inserts_here, inserts_take};

static size_t piece_of_one(const tern_hashtable *table, tern_item_kind kind) {
    return sizeof(tern_piece_head) + 8 * tern_item_words(table, kind);
}

bool tern_insert_batch_fits(const tern_hashtable *table) {
    return piece_of_one(table, TERN_ITEM_VALUE) <= tern_call_room(table->context);
}

bool tern_combined_fits(const tern_hashtable *table) {
    return piece_of_one(table, TERN_ITEM_COMBINED) <= tern_call_room(table->context);
}

tern_status tern_insert_batch_check(const tern_hashtable *table) {
    if (tern_insert_batch_fits(table))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "an insert by call takes %zu bytes and a ring takes %zu at a time; raise "
                     "TERN_RING_SIZE (now %zu) or pass TERN_BY_RMA",
                     piece_of_one(table, TERN_ITEM_VALUE), tern_call_room(table->context),
                     table->context->config.ring_size);
}

tern_status tern_insert_batch_begin(tern_insert_batch *batch, tern_worker *worker,
                                    tern_hashtable *table, uint64_t each, size_t expected,
                                    uint32_t limit) {
    batch->stored = batch->refused = 0;
    batch->combined = each != 0;
    tern_status status = tern_insert_batch_check(table);
    if (status == TERN_OK)
        status = tern_scatter_begin(&batch->scatter, worker, table, &insert_ops,
                                    tern_item_words(table, kind_of(each)), 0, expected, limit);
    if (status == TERN_OK)
        batch->scatter.word = each;
    return status;
}

tern_status tern_insert_batch_gather(tern_insert_batch *batch, const void *key, const void *value,
                                     size_t count, uint32_t *owner) {
    const tern_hashtable *table = batch->scatter.table;
    *owner = tern_hash_owner(table, tern_hash_of_bytes(table, key));
    uint64_t *words;
    tern_status status =
        tern_scatter_item(&batch->scatter, *owner, count, batch->scatter.item_words, &words);
    if (status != TERN_OK)
        return status;
    const bool counts = tern_shape_counts(table->shape);
    const uint32_t key_words = table->shape.key_words;
    const size_t value_bytes = counts ? 8 : table->value_bytes;
    if (table->key_bytes == 8)
        memcpy(words, key, 8);
    else
        tern_words_fill(words, key_words, key, table->key_bytes);
    if (batch->combined)
        words[batch->scatter.item_words - 1] = count;
    if (batch->combined && counts)
        return TERN_OK;
    if (value_bytes == 8)
        memcpy(words + key_words, value, 8);
    else
        tern_words_fill(words + key_words, table->shape.value_words, value, value_bytes);
    return TERN_OK;
}

static tern_status gather(tern_insert_batch *batch, const tern_items *items, size_t item,
                          size_t count) {
    uint32_t owner;
    const tern_status status =
        tern_insert_batch_gather(batch, items->keys + item * items->key_step,
                                 items->values + item * items->value_step, count, &owner);
    return status == TERN_OK ? tern_scatter_written(&batch->scatter, owner) : status;
}

static tern_status gather_combined(tern_insert_batch *batch, tern_items items) {
    tern_combined combined[TERN_COMBINE_KEYS];
    tern_status status = TERN_OK;
    while (items.count > 0 && status == TERN_OK) {
        const size_t count = items.count < TERN_COMBINE_KEYS ? items.count : TERN_COMBINE_KEYS;
        const size_t keys = tern_batch_combine(items.keys, items.key_step,
                                               batch->scatter.table->key_bytes, count, combined);
        for (size_t i = 0; i < keys && status == TERN_OK; i++)
            status = gather(batch, &items, combined[i].item, combined[i].count);
        items = inserts_skip(items, count);
    }
    return status;
}

tern_status tern_insert_batch_run(tern_insert_batch *batch, const tern_items *items) {
    tern_scatter *scatter = &batch->scatter;
    tern_status status = TERN_OK;
    if (batch->combined)
        status = gather_combined(batch, *items);
    else
        for (size_t i = 0; i < items->count && status == TERN_OK; i++)
            status = gather(batch, items, i, 1);
    if (status == TERN_OK)
        status = tern_scatter_send(scatter);
    (void)tern_scatter_wait(scatter);
    const tern_status failed = tern_scatter_failure(scatter);
    return failed != TERN_OK ? failed : status;
}
