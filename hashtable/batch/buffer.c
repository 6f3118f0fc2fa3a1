#include "tern/hashtable_buffer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hashtable/batch/batch.h"
#include "src/broken.h"

/* Enough to keep an owner busy while others answer, and leaves calls to the program. */
enum { UNDER_WAY = 16 };

struct tern_hashtable_buffer {
    tern_insert_batch batch;
    uint64_t taken; /* since the last report */
};

_Static_assert(TERN_BUFFER_KEYS == TERN_PIECE_ITEMS, "a full buffer is a full piece");

static tern_status insert_buffer_check(tern_worker *worker, const tern_hashtable_buffer *buffer,
                                       const char *name) {
    if (worker == NULL || buffer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL ? "worker" : "buffer");
    const tern_worker *owner = buffer->batch.scatter.worker;
    if (owner != worker)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: the buffer is worker %u's, not worker %u's", name,
                         owner->id, worker->id);
    return tern_worker_may_wait(worker, name);
}

tern_status tern_hashtable_buffer_create(tern_worker *worker, tern_hashtable *table, size_t keys,
                                         tern_hashtable_buffer **buffer) {
    static const char name[] = "tern_hashtable_buffer_create";
    tern_status status = tern_hashtable_check(worker, table, buffer, TERN_WRITE_ONLY | TERN_BY_CALL,
                                              TERN_READ_ONLY, name);
    if (status == TERN_OK && keys > TERN_BUFFER_KEYS)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %zu keys; allowed are 0 to %u", name, keys,
                           TERN_BUFFER_KEYS);
    if (status != TERN_OK)
        return status;
    tern_hashtable_buffer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a buffer");
    status = tern_insert_batch_begin(&fresh->batch, worker, table, 0,
                                     keys > 0 ? keys : TERN_BUFFER_KEYS, UNDER_WAY);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    *buffer = fresh;
    return TERN_OK;
}

static tern_status insert_buffer_give(tern_hashtable_buffer *buffer, const void *key,
                                      const void *value) {
    tern_scatter *scatter = &buffer->batch.scatter;
    uint32_t owner;
    tern_status status = tern_insert_batch_gather(&buffer->batch, key, value, 1, &owner);
    if (status != TERN_OK)
        return status;
    buffer->taken++;
    if (tern_scatter_written(scatter, owner) != TERN_OK)
        tern_error_clear(); /* the report tells of it */
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

/* Everything has been sent and answered. */
static tern_status insert_buffer_report(tern_hashtable_buffer *buffer, uint64_t *refused) {
    tern_insert_batch *b = &buffer->batch;
    uint64_t unknown = buffer->taken - b->stored - b->refused, no_room = b->refused;
    tern_status status = TERN_OK, failed = tern_scatter_failure(&b->scatter);
    /* An error of a message leaves some of its keys unknown; others have been told already. */
    if (unknown > 0)
        status = tern_fail(failed,
                           "of %" PRIu64 " buffered keys it is not known whether they are in the "
                           "table: %s",
                           unknown, b->scatter.text);
    else if (no_room > 0)
        status = tern_fail(TERN_ERR_FULL,
                           "%" PRIu64 " of %" PRIu64 " buffered keys found no room; create the "
                           "table with a greater capacity",
                           no_room, buffer->taken);
    buffer->taken = b->stored = b->refused = 0;
    if (refused != NULL)
        *refused = no_room;
    return status;
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
    tern_scatter_end(&buffer->batch.scatter);
    free(buffer);
    return status;
}
