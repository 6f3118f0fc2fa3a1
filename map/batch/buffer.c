#include "tern/map_buffer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "map/batch/changes.h"

/* Enough to keep an owner busy while others answer, and leaves calls to the program. */
enum { UNDER_WAY = 16 };

struct tern_map_buffer {
    tern_map_changes changes;
    uint64_t taken; /* since the last report */
};

_Static_assert(TERN_MAP_BUFFER_KEYS == TERN_PIECE_ITEMS, "a full buffer is a full piece");

static tern_status map_buffer_check(tern_worker *worker, const tern_map_buffer *buffer,
                                    const char *name) {
    if (worker == NULL || buffer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL ? "worker" : "buffer");
    const tern_worker *owner = buffer->changes.scatter.worker;
    if (owner != worker)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: the buffer is worker %u's, not worker %u's", name,
                         owner->id, worker->id);
    return tern_worker_may_wait(worker, name);
}

tern_status tern_map_buffer_create(tern_worker *worker, tern_map *map, size_t keys,
                                   tern_map_buffer **buffer) {
    static const char name[] = "tern_map_buffer_create";
    tern_status status =
        tern_map_check(worker, map, name, 1, TERN_WRITE_ONLY | TERN_BY_CALL, TERN_READ_ONLY, name);
    if (status == TERN_OK && buffer == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: buffer is NULL", name);
    if (status == TERN_OK && keys > TERN_MAP_BUFFER_KEYS)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: %zu keys; allowed are 0 to %u", name, keys,
                           TERN_MAP_BUFFER_KEYS);
    if (status != TERN_OK)
        return status;
    tern_map_buffer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a buffer");
    status = tern_map_changes_begin(&fresh->changes, worker, map,
                                    keys > 0 ? keys : TERN_MAP_BUFFER_KEYS, UNDER_WAY);
    if (status != TERN_OK) {
        free(fresh);
        return status;
    }
    *buffer = fresh;
    return TERN_OK;
}

/* change: all but its key. */
static tern_status map_buffer_give(tern_map_buffer *buffer, const void *key, size_t key_bytes,
                                   tern_map_change change) {
    tern_map_key k;
    tern_map_key_make(buffer->changes.map, key, key_bytes, &k);
    change.key = &k;
    change.count = 1;
    tern_status status =
        tern_map_changes_take(&buffer->changes, &change, TERN_READ_WRITE | TERN_BY_CALL);
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
    const tern_map_change change = {.value = value, .value_bytes = value_bytes};
    return status == TERN_OK ? map_buffer_give(buffer, key, key_bytes, change) : status;
}

tern_status tern_map_buffer_add(tern_worker *worker, tern_map_buffer *buffer, const void *key,
                                size_t key_bytes, uint64_t delta) {
    static const char name[] = "tern_map_buffer_add";
    tern_status status = map_buffer_check(worker, buffer, name);
    if (status == TERN_OK)
        status = tern_map_check(worker, buffer->changes.map, key, key_bytes, TERN_BY_CALL,
                                TERN_READ_ONLY, name);
    const tern_map_change change = {.adds = true, .delta = delta};
    return status == TERN_OK ? map_buffer_give(buffer, key, key_bytes, change) : status;
}

/* Everything has been sent and answered. */
static tern_status map_buffer_report(tern_map_buffer *buffer, uint64_t *refused) {
    tern_map_changes *c = &buffer->changes;
    const uint64_t lost = buffer->taken - c->stored - c->refused, no_room = c->refused;
    tern_status status = TERN_OK, failed = tern_scatter_failure(&c->scatter);
    /* An error of a message leaves its keys unknown; others have been told already. */
    if (lost > 0)
        status = tern_fail(failed,
                           "of %" PRIu64 " buffered keys it is not certain that they are in the "
                           "map: %s",
                           lost, c->scatter.text);
    else if (no_room > 0)
        status = tern_fail(TERN_ERR_FULL,
                           "%" PRIu64 " of %" PRIu64 " buffered keys found no room; create the map "
                           "with a greater capacity, or let it grow",
                           no_room, buffer->taken);
    buffer->taken = c->stored = c->refused = 0;
    if (refused != NULL)
        *refused = no_room;
    return status;
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
