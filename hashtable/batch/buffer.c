#include "tern/hashtable.h"

#include <stdlib.h>

#include "hashtable/batch/ask.h"
#include "hashtable/batch/buffered.h"
#include "src/broken.h"

struct tern_hashtable_buffer {
    tern_item_batch batch;
    uint64_t taken; /* since the last report */
};

_Static_assert(TERN_HASHTABLE_BUFFER_KEYS == TERN_BUFFERED_KEYS, "what the header says is allowed");

static tern_status insert_buffer_check(tern_worker *worker, const tern_hashtable_buffer *buffer,
                                       const char *name) {
    return tern_buffered_check(worker, buffer != NULL ? &buffer->batch.scatter : NULL, name);
}

tern_status tern_hashtable_buffer_create(tern_worker *worker, tern_hashtable *table, size_t keys,
                                         tern_hashtable_buffer **buffer) {
    static const char name[] = "tern_hashtable_buffer_create";
    tern_status status = tern_hashtable_check(worker, table, buffer, TERN_WRITE_ONLY | TERN_BY_CALL,
                                              TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_buffered_check_keys(keys, name);
    if (status != TERN_OK)
        return status;
    const bool counts = tern_shape_counts(table->shape);
    const uint8_t kind = counts ? TERN_OP_ADD : TERN_OP_INSERT;
    const uint8_t form = counts ? TERN_BUNDLE_NUMBERED : 0;
    tern_path_question question =
        tern_items_question(worker, table, kind, form, table->rank, TERN_BY_CALL, name);
    question.call_only = true; /* a buffer has no other path */
    tern_pick pick;
    status = tern_choice_of(&question, &pick);
    if (status != TERN_OK)
        return status;
    tern_hashtable_buffer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a buffer");
    status = tern_item_batch_begin(&fresh->batch, worker, table, kind, form, NULL,
                                   keys > 0 ? keys : TERN_HASHTABLE_BUFFER_KEYS,
                                   TERN_BUFFERED_UNDER_WAY);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    tern_buffered_open(&fresh->batch.scatter, "tern_hashtable_buffer_flush");
    *buffer = fresh;
    return TERN_OK;
}

static tern_status insert_buffer_give(tern_hashtable_buffer *buffer, const void *key,
                                      const void *value) {
    tern_scatter *scatter = &buffer->batch.scatter;
    uint32_t owner;
    tern_status status = tern_item_batch_gather(&buffer->batch, key, value, 1, &owner);
    if (status != TERN_OK)
        return status;
    buffer->taken++;
    if (tern_scatter_written(scatter, owner) != TERN_OK)
        tern_error_clear(); /* the report returns it */
    return TERN_OK;
}

tern_status tern_hashtable_buffer_insert(tern_worker *worker, tern_hashtable_buffer *buffer,
                                         const void *key, const void *value) {
    static const char name[] = "tern_hashtable_buffer_insert";
    tern_status status = insert_buffer_check(worker, buffer, name);
    if (status != TERN_OK)
        return status;
    const tern_hashtable *table = buffer->batch.scatter.table;
    if (key == NULL || (value == NULL && table->value_bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name, key == NULL ? "key" : "value");
    status = tern_hashtable_check_kind(table, 0, name);
    return status == TERN_OK ? insert_buffer_give(buffer, key, value) : status;
}

tern_status tern_hashtable_buffer_add(tern_worker *worker, tern_hashtable_buffer *buffer,
                                      const void *key, uint64_t delta) {
    static const char name[] = "tern_hashtable_buffer_add";
    tern_status status = insert_buffer_check(worker, buffer, name);
    if (status != TERN_OK)
        return status;
    if (key == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: key is NULL", name);
    status = tern_hashtable_check_kind(buffer->batch.scatter.table, 1, name);
    return status == TERN_OK ? insert_buffer_give(buffer, key, &delta) : status;
}

static tern_status insert_buffer_report(tern_hashtable_buffer *buffer, uint64_t *refused) {
    tern_item_batch *b = &buffer->batch;
    return tern_buffered_report(&b->scatter, &buffer->taken, &b->stored, &b->refused, "table",
                                refused);
}

tern_status tern_hashtable_buffer_flush(tern_worker *worker, tern_hashtable_buffer *buffer,
                                        uint64_t *refused) {
    tern_status status = insert_buffer_check(worker, buffer, "tern_hashtable_buffer_flush");
    if (status != TERN_OK)
        return status;
    tern_status sent = tern_scatter_send(&buffer->batch.scatter);
    if (!TERN_BROKEN(TERN_BREAK_FLUSH))
        (void)tern_scatter_wait(&buffer->batch.scatter);
    return sent == TERN_ERR_AGAIN ? sent : insert_buffer_report(buffer, refused);
}

tern_status tern_hashtable_buffer_destroy(tern_worker *worker, tern_hashtable_buffer *buffer,
                                          uint64_t *refused) {
    if (buffer == NULL)
        return TERN_OK;
    tern_status status = insert_buffer_check(worker, buffer, "tern_hashtable_buffer_destroy");
    if (status != TERN_OK)
        return status;
    status = tern_hashtable_buffer_flush(worker, buffer, refused);
    if (status == TERN_ERR_AGAIN)
        return status;
    tern_buffered_close(&buffer->batch.scatter);
    tern_scatter_end(&buffer->batch.scatter);
    free(buffer);
    return status;
}
