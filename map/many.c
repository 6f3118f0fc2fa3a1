#include "tern/map_batch.h"

#include <stdio.h>

#include "map/map.h"
#include "src/progress/progress.h"
#include "tern/map_request.h"

/* Batches: requests (map/request.c), of which a window is under way. They end in the order in which
 * they began. */

enum { MANY_UNDER_WAY = 32 };

typedef struct map_batch {
    tern_worker *worker;
    tern_map *map;
    tern_flags flags;
    size_t count;
    const tern_map_item *items; /* to insert, or to add to if adds */
    bool adds;
    uint64_t delta;
    tern_map_slot *slots; /* to find, or NULL */
    tern_request request[MANY_UNDER_WAY];
    size_t begun, ended;
    size_t done;    /* items that are stored, counted or found */
    size_t refused; /* items that found no room, or whose value did not */
    tern_status failed;
    char text[TERN_DETAIL_BYTES];
} map_batch;

/* Keeps the first failure with its text. */
static void batch_fail(map_batch *b, tern_status status) {
    if (b->failed != TERN_OK)
        return;
    b->failed = status;
    snprintf(b->text, sizeof b->text, "%s", tern_error_detail());
}

static tern_status batch_start(map_batch *b, size_t i) {
    tern_request *request = &b->request[i % MANY_UNDER_WAY];
    if (b->slots != NULL) {
        const tern_map_slot *s = &b->slots[i];
        return tern_map_find_start(b->worker, b->map, s->key, s->key_bytes, b->flags, s->value,
                                   s->room, request);
    }
    const tern_map_item *item = &b->items[i];
    return b->adds ? tern_map_add_start(b->worker, b->map, item->key, item->key_bytes, b->delta,
                                        b->flags, request)
                   : tern_map_insert_start(b->worker, b->map, item->key, item->key_bytes,
                                           item->value, item->value_bytes, b->flags, request);
}

/* A find tells the size of a value that found no room, and its request does not. */
static void batch_measure(map_batch *b, tern_map_slot *s) {
    size_t bytes = 0;
    const tern_status status =
        tern_map_find(b->worker, b->map, s->key, s->key_bytes, b->flags, s->value, s->room, &bytes);
    if (status != TERN_OK && status != TERN_ERR_NOT_FOUND && bytes <= s->room) {
        batch_fail(b, status);
        return;
    }
    s->found = status != TERN_ERR_NOT_FOUND;
    s->value_bytes = bytes;
    b->done += s->found != 0;
    b->refused += status == TERN_ERR_RANGE;
}

/* Takes the outcome of item i. */
static void batch_take(map_batch *b, size_t i, tern_status status, uint64_t result) {
    if (b->slots == NULL) {
        b->done += status == TERN_OK;
        b->refused += status == TERN_ERR_FULL;
        if (status != TERN_OK && status != TERN_ERR_FULL)
            batch_fail(b, status);
        return;
    }
    tern_map_slot *s = &b->slots[i];
    s->found = status == TERN_OK;
    s->value_bytes = result;
    b->done += status == TERN_OK;
    if (status == TERN_ERR_RANGE && s->key_bytes <= TERN_MAP_KEY_MAX)
        batch_measure(b, s);
    else if (status != TERN_OK && status != TERN_ERR_NOT_FOUND)
        batch_fail(b, status);
}

static void batch_end_oldest(map_batch *b) {
    const size_t i = b->ended++;
    tern_request *request = &b->request[i % MANY_UNDER_WAY];
    const tern_status status = tern_wait(b->worker, request);
    batch_take(b, i, status, tern_request_result(request));
}

/* Starts the next item. Where the program holds most of the calls that a worker may have under way,
 * fewer are at once. */
static void batch_begin_next(map_batch *b) {
    if (b->begun - b->ended == MANY_UNDER_WAY)
        batch_end_oldest(b);
    tern_status status;
    while ((status = batch_start(b, b->begun)) == TERN_ERR_AGAIN && b->ended < b->begun)
        batch_end_oldest(b);
    if (status == TERN_OK) {
        b->begun++;
        return;
    }
    while (b->ended < b->begun)
        batch_end_oldest(b);
    batch_take(b, b->begun, status, 0);
    b->begun++;
    b->ended++;
}

static tern_status batch_check(const map_batch *b, const char *name) {
    tern_status status = tern_map_check(b->worker, b->map, name, 1, b->flags,
                                        b->slots != NULL ? TERN_WRITE_ONLY : TERN_READ_ONLY, name);
    if (status == TERN_OK && b->count > 0 && b->items == NULL && b->slots == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: items is NULL", name);
    return status == TERN_OK ? tern_worker_may_wait(b->worker, name) : status;
}

/* [out] done: set once the arguments have been checked; may be NULL. */
static tern_status batch_run(map_batch *b, size_t *done, const char *name) {
    tern_status status = batch_check(b, name);
    if (status != TERN_OK)
        return status;
    while (b->begun < b->count && b->failed == TERN_OK) {
        batch_begin_next(b);
        if (b->begun % MANY_UNDER_WAY == 0)
            (void)tern_progress_round(b->worker);
    }
    while (b->ended < b->begun)
        batch_end_oldest(b);
    if (done != NULL)
        *done = b->done;
    if (b->failed != TERN_OK)
        return tern_fail(b->failed, "%s", b->text);
    tern_error_clear();
    if (b->refused == 0)
        return TERN_OK;
    return b->slots != NULL
               ? tern_fail(TERN_ERR_RANGE, "%zu of %zu values found no room", b->refused, b->count)
               : tern_fail(TERN_ERR_FULL,
                           "%zu of %zu keys found no room; create the map with a greater capacity, "
                           "or let it grow",
                           b->refused, b->count);
}

tern_status tern_map_insert_many(tern_worker *worker, tern_map *map, const tern_map_item *items,
                                 size_t count, tern_flags flags, size_t *stored) {
    map_batch b = {.worker = worker, .map = map, .flags = flags, .count = count, .items = items};
    return batch_run(&b, stored, "tern_map_insert_many");
}

tern_status tern_map_add_many(tern_worker *worker, tern_map *map, const tern_map_item *items,
                              size_t count, uint64_t delta, tern_flags flags, size_t *added) {
    map_batch b = {.worker = worker,
                   .map = map,
                   .flags = flags,
                   .count = count,
                   .items = items,
                   .adds = true,
                   .delta = delta};
    return batch_run(&b, added, "tern_map_add_many");
}

tern_status tern_map_find_many(tern_worker *worker, tern_map *map, tern_map_slot *slots,
                               size_t count, tern_flags flags, size_t *present) {
    tern_map_slot none;
    size_t there = 0;
    if (slots == NULL && count > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_map_find_many: slots is NULL");
    map_batch b = {.worker = worker,
                   .map = map,
                   .flags = flags,
                   .count = count,
                   .slots = slots != NULL ? slots : &none};
    tern_status status = batch_run(&b, &there, "tern_map_find_many");
    if (present != NULL && (status == TERN_OK || status == TERN_ERR_RANGE))
        *present = there;
    return status;
}
