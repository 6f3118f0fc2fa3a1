#include "tern/map_buffer.h"

#include <stdlib.h>

#include "hashtable/batch/buffered.h"
#include "map/batch/changes.h"

struct tern_map_buffer {
    tern_map_changes changes;
    uint64_t taken; /* since the last report */
};

_Static_assert(TERN_MAP_BUFFER_KEYS == TERN_BUFFERED_KEYS, "what the header says is allowed");

static tern_status map_buffer_check(tern_worker *worker, const tern_map_buffer *buffer,
                                    const char *name) {
    return tern_buffered_check(worker, buffer != NULL ? &buffer->changes.scatter : NULL, name);
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
    status =
        tern_map_changes_begin(&fresh->changes, worker, map, keys > 0 ? keys : TERN_MAP_BUFFER_KEYS,
                               TERN_BUFFERED_UNDER_WAY);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    *buffer = fresh;
    return TERN_OK;
}

/* An add of delta, or an insert of the value. */
static tern_status map_buffer_give(tern_map_buffer *buffer, const void *key, size_t key_bytes,
                                   bool adds, uint64_t delta, const void *value,
                                   size_t value_bytes) {
    tern_map_changes *c = &buffer->changes;
    tern_map_op m;
    tern_map_key_make(c->map, key, key_bytes, &m.key);
    tern_map_change_init(&m, c, adds, delta, TERN_READ_WRITE, value, value_bytes);
    tern_status status = tern_map_changes_take(c, &m, 1, TERN_READ_WRITE | TERN_BY_CALL);
    buffer->taken += status == TERN_OK;
    return status;
}

tern_status tern_map_buffer_insert(tern_worker *worker, tern_map_buffer *buffer, const void *key,
                                   size_t key_bytes, const void *value, size_t value_bytes) {
    static const char name[] = "tern_map_buffer_insert";
    tern_status status = map_buffer_check(worker, buffer, name);
    if (status == TERN_OK)
        status = tern_map_check(worker, buffer->changes.map, key, key_bytes, TERN_BY_CALL,
                                TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_map_check_value(value, value_bytes, name);
    return status == TERN_OK ? map_buffer_give(buffer, key, key_bytes, false, 0, value, value_bytes)
                             : status;
}

tern_status tern_map_buffer_add(tern_worker *worker, tern_map_buffer *buffer, const void *key,
                                size_t key_bytes, uint64_t delta) {
    static const char name[] = "tern_map_buffer_add";
    tern_status status = map_buffer_check(worker, buffer, name);
    if (status == TERN_OK)
        status = tern_map_check(worker, buffer->changes.map, key, key_bytes, TERN_BY_CALL,
                                TERN_READ_ONLY, name);
    return status == TERN_OK ? map_buffer_give(buffer, key, key_bytes, true, delta, NULL, 0)
                             : status;
}

static tern_status map_buffer_report(tern_map_buffer *buffer, uint64_t *refused) {
    tern_map_changes *c = &buffer->changes;
    return tern_buffered_report(&c->scatter, &buffer->taken, &c->stored, &c->refused, "map",
                                refused);
}

tern_status tern_map_buffer_flush(tern_worker *worker, tern_map_buffer *buffer, uint64_t *refused) {
    tern_status status = map_buffer_check(worker, buffer, "tern_map_buffer_flush");
    if (status != TERN_OK)
        return status;
    status = tern_map_changes_finish(&buffer->changes);
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
    tern_map_changes_end(&buffer->changes);
    free(buffer);
    return status;
}
