#include "tern/map.h"

#include <stdlib.h>

#include "hashtable/batch/buffered.h"
#include "map/batch/batch.h"

enum { KEYS_PER_PROGRESS = 32 };

struct tern_map_buffer {
    tern_map_batch batch;
    uint64_t taken; /* since the last report */
};

_Static_assert(TERN_MAP_BUFFER_KEYS == TERN_BUFFERED_KEYS, "what the header says is allowed");

static tern_status map_buffer_check(tern_worker *worker, const tern_map_buffer *buffer,
                                    const char *name) {
    return tern_buffered_check(worker, buffer != NULL ? &buffer->batch.scatter : NULL, name);
}

tern_status tern_map_buffer_create(tern_worker *worker, tern_map *map, size_t keys,
                                   tern_map_buffer **buffer) {
    static const char name[] = "tern_map_buffer_create";
    tern_status status =
        tern_map_check(worker, map, name, 1, TERN_WRITE_ONLY | TERN_BY_CALL, TERN_READ_ONLY, name);
    if (status == TERN_OK && buffer == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: buffer is NULL", name);
    if (status == TERN_OK)
        status = tern_buffered_check_keys(keys, name);
    if (status != TERN_OK)
        return status;
    tern_map_buffer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a buffer");
    status = tern_map_batch_choose(&fresh->batch, worker, map, NULL, TERN_READ_WRITE | TERN_BY_CALL,
                                   name);
    if (status == TERN_OK)
        status = tern_map_batch_begin(&fresh->batch, keys > 0 ? keys : TERN_MAP_BUFFER_KEYS,
                                      TERN_BUFFERED_UNDER_WAY);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    tern_buffered_open(&fresh->batch.scatter, "tern_map_buffer_flush");
    *buffer = fresh;
    return TERN_OK;
}

static tern_status map_buffer_give(tern_map_buffer *buffer, tern_map_op *m) {
    const tern_status status = tern_map_batch_take(&buffer->batch, m, 1);
    buffer->taken += status == TERN_OK;
    if (buffer->taken % KEYS_PER_PROGRESS == 0) /* this rank's own keys are in no call */
        (void)tern_progress_round(buffer->batch.scatter.worker);
    return status;
}

tern_status tern_map_buffer_insert(tern_worker *worker, tern_map_buffer *buffer, const void *key,
                                   size_t key_bytes, const void *value, size_t value_bytes) {
    static const char name[] = "tern_map_buffer_insert";
    tern_status status = map_buffer_check(worker, buffer, name);
    if (status == TERN_OK)
        status = tern_map_check(worker, buffer->batch.map, key, key_bytes, TERN_BY_CALL,
                                TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_map_check_value(value, value_bytes, name);
    if (status != TERN_OK)
        return status;
    tern_map_op m;
    tern_map_key_make(buffer->batch.map, key, key_bytes, &m.key);
    tern_map_op_init_change(&m, TERN_OP_INSERT, worker, buffer->batch.map, TERN_READ_WRITE, value,
                            value_bytes);
    return map_buffer_give(buffer, &m);
}

tern_status tern_map_buffer_add(tern_worker *worker, tern_map_buffer *buffer, const void *key,
                                size_t key_bytes, uint64_t delta) {
    static const char name[] = "tern_map_buffer_add";
    tern_status status = map_buffer_check(worker, buffer, name);
    if (status == TERN_OK)
        status = tern_map_check(worker, buffer->batch.map, key, key_bytes, TERN_BY_CALL,
                                TERN_READ_ONLY, name);
    if (status != TERN_OK)
        return status;
    tern_map_op m;
    tern_map_key_make(buffer->batch.map, key, key_bytes, &m.key);
    tern_map_op_init_number(&m, TERN_OP_ADD, worker, buffer->batch.map, delta, 0);
    return map_buffer_give(buffer, &m);
}

static tern_status map_buffer_report(tern_map_buffer *buffer, uint64_t *refused) {
    tern_map_batch *b = &buffer->batch;
    return tern_buffered_report(&b->scatter, &buffer->taken, &b->stored, &b->refused, "map",
                                refused);
}

tern_status tern_map_buffer_flush(tern_worker *worker, tern_map_buffer *buffer, uint64_t *refused) {
    tern_status status = map_buffer_check(worker, buffer, "tern_map_buffer_flush");
    if (status != TERN_OK)
        return status;
    status = tern_map_batch_finish(&buffer->batch, 0);
    return status == TERN_ERR_AGAIN ? status : map_buffer_report(buffer, refused);
}

tern_status tern_map_buffer_destroy(tern_worker *worker, tern_map_buffer *buffer,
                                    uint64_t *refused) {
    if (buffer == NULL)
        return TERN_OK;
    tern_status status = map_buffer_check(worker, buffer, "tern_map_buffer_destroy");
    if (status != TERN_OK)
        return status;
    status = tern_map_buffer_flush(worker, buffer, refused);
    if (status == TERN_ERR_AGAIN)
        return status;
    tern_buffered_close(&buffer->batch.scatter);
    tern_map_batch_end(&buffer->batch);
    free(buffer);
    return status;
}
