#include "tern/hashtable_batch.h"

#include <stdlib.h>

#include "hashtable/batch/batch.h"
#include "hashtable/batch/combine.h"
#include "hashtable/growth/growth.h"
#include "hashtable/batch/run.h"

/* The public operations on many keys: arguments are checked here, then keys are gone through by
 * load/store where that reaches all of them, through a window of operations under way, or by call.
 */
enum { IN_FLIGHT = 32 };

/* Bytes of count things; TERN_ERR_ARGUMENT where no memory holds them. */
static tern_status many_extent(const char *name, size_t count, size_t each, size_t *bytes) {
    if (each > 0 && count > PTRDIFF_MAX / each)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: no memory holds %zu keys or values of %zu bytes",
                         name, count, each);
    *bytes = count * each;
    return TERN_OK;
}

static bool many_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
    return a_bytes > 0 && b_bytes > 0 && first < second + b_bytes && second < first + a_bytes;
}

tern_flags tern_table_batch_way(tern_worker *worker, const tern_hashtable *table,
                                tern_path_kind kind, tern_flags flags, const char *keys,
                                size_t step, size_t count) {
    tern_flags via = tern_flags_way(flags);
    via = via == TERN_AUTO ? table->only[kind] : via;
    /* A batch with no key on another node does not wait for other nodes to be measured. */
    for (size_t i = 0; via == TERN_AUTO && !table->all_near && i < count; i++) {
        const uint32_t owner = tern_hash_owner(table, tern_hash_of_bytes(table, keys + i * step));
        const tern_path_target target = tern_table_target(table, owner);
        if (!tern_same_node(table->context, owner))
            via = tern_selector_way(worker, kind, &target, true);
    }
    return via == TERN_AUTO ? TERN_BY_RMA : via;
}

static tern_status insert_by_call(tern_worker *worker, tern_hashtable *table,
                                  const tern_items *items, tern_flags promise, bool local_in_place,
                                  size_t *stored) {
    /* Those of a counter table add different numbers. */
    const uint64_t each = !tern_shape_counts(table->shape) && tern_batch_combines(table, items);
    tern_insert_batch batch;
    tern_status status =
        tern_insert_batch_begin(&batch, worker, table, each, items->count, IN_FLIGHT);
    if (status != TERN_OK)
        return status;
    batch.scatter.local_in_place = local_in_place;
    status = tern_insert_batch_run(&batch, items);
    tern_scatter_end(&batch.scatter);
    *stored = batch.stored;
    if (local_in_place && tern_growth_flushes(table, promise)) {
        const tern_status flushed = tern_puts_flush_all(worker);
        status = status == TERN_OK ? flushed : status;
    }
    return status;
}

static tern_status insert_by_rma(tern_worker *worker, tern_hashtable *table,
                                 const tern_items *items, tern_flags promise, size_t *stored) {
    size_t done;
    if (table->all_near)
        return tern_run_insert(worker, table, items, &done, stored);
    tern_status status = tern_window_insert(worker, table, items, stored);
    tern_status flushed =
        tern_growth_flushes(table, promise) ? tern_puts_flush_all(worker) : TERN_OK;
    return status == TERN_OK ? flushed : status;
}

tern_status tern_items_insert(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                              tern_flags flags, size_t *stored) {
    const tern_flags promise = tern_flags_promise(flags);
    *stored = 0;
    tern_status status;
    if (tern_table_batch_way(worker, table, TERN_PATH_INSERT_MANY, flags, items->keys,
                             items->key_step, items->count) == TERN_BY_CALL)
        status = insert_by_call(worker, table, items, promise, tern_flags_way(flags) == TERN_AUTO,
                                stored);
    else
        status = insert_by_rma(worker, table, items, promise, stored);
    if (status == TERN_OK && *stored < items->count)
        status = tern_fail(TERN_ERR_FULL, "%zu of %zu keys found no room in the table; %s",
                           items->count - *stored, items->count, tern_table_room_remedy(table));
    return status;
}

tern_status tern_hashtable_insert_many(tern_worker *worker, tern_hashtable *table, const void *keys,
                                       const void *values, size_t count, tern_flags flags,
                                       size_t *stored) {
    static const char name[] = "tern_hashtable_insert_many";
    size_t bytes = 0, kept = 0;
    tern_status status =
        tern_hashtable_check(worker, table, count > 0 ? keys : name, flags, TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_hashtable_check_kind(table, 0, name);
    if (status == TERN_OK && values == NULL && count > 0 && table->value_bytes > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: values is NULL", name);
    if (status == TERN_OK)
        status = many_extent(name, count, table->key_bytes, &bytes);
    if (status == TERN_OK)
        status = many_extent(name, count, table->value_bytes, &bytes);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    values = values == NULL ? name : values; /* whose place matters only */
    const tern_items items = {.keys = keys,
                              .values = values,
                              .key_step = table->key_bytes,
                              .value_step = table->value_bytes,
                              .count = count};
    status = tern_items_insert(worker, table, &items, flags, &kept);
    if (stored != NULL)
        *stored = kept;
    return status;
}

static tern_status check_find(tern_worker *worker, const tern_hashtable *table, const void *keys,
                              size_t count, tern_flags flags, const void *values,
                              const unsigned char *found) {
    static const char name[] = "tern_hashtable_find_many";
    size_t key_bytes = 0, bytes = 0;
    tern_status status =
        tern_hashtable_check(worker, table, count > 0 ? keys : name, flags, TERN_WRITE_ONLY, name);
    if (status != TERN_OK)
        return status;
    if (values == NULL && count > 0 && tern_found_bytes(table) > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: values is NULL", name);
    status = many_extent(name, count, table->key_bytes, &key_bytes);
    if (status == TERN_OK)
        status = many_extent(name, count, tern_found_bytes(table), &bytes);
    if (status != TERN_OK)
        return status;
    if (many_overlap(keys, key_bytes, values, bytes) ||
        (found != NULL && (many_overlap(keys, key_bytes, found, count) ||
                           many_overlap(values, bytes, found, count))))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: keys, values and found overlap", name);
    return tern_worker_may_wait(worker, name);
}

tern_status tern_hashtable_find_many(tern_worker *worker, tern_hashtable *table, const void *keys,
                                     size_t count, tern_flags flags, void *values,
                                     unsigned char *found, size_t *present) {
    size_t there = 0, done;
    tern_status status = check_find(worker, table, keys, count, flags, values, found);
    if (status != TERN_OK)
        return status;
    const tern_flags promise = tern_flags_promise(flags);
    const tern_flags via = tern_table_batch_way(worker, table, TERN_PATH_FIND_MANY, flags, keys,
                                                table->key_bytes, count);
    static char nothing[1];
    values = values == NULL ? nothing : values;
    unsigned char *there_at = found;
    if (found == NULL && via == TERN_BY_CALL && (there_at = malloc(count + 1)) == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a batch of %zu keys", count);
    tern_items items = {.keys = keys, .key_step = table->key_bytes, .count = count};
    if (via == TERN_BY_CALL)
        status = tern_call_find_many(worker, table, keys, count, tern_flags_way(flags) == TERN_AUTO,
                                     values, there_at, &there);
    else if (table->all_near)
        status = tern_run_find(worker, table, &items, promise, false, values, found, &done, &there);
    else
        status = tern_window_find(worker, table, &items, promise, values, found, &there);
    if (there_at != found)
        free(there_at);
    if (status == TERN_OK && present != NULL)
        *present = there;
    return status;
}
