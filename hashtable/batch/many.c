#include "tern/hashtable.h"

#include "hashtable/batch/ask.h"
#include "hashtable/arrays/arrays.h"

/* The public operations on many keys: arguments are checked here, then keys are gone through by
 * load/store where that reaches all of them, through a window of operations under way, or by call.
 */
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

/* Which operation they are to the selector. */
static tern_path_kind many_path(const tern_hashtable *table, const tern_items *items) {
    return items->kind == TERN_OP_FIND       ? TERN_PATH_FIND_MANY
           : tern_shape_counts(table->shape) ? TERN_PATH_ADD_MANY
                                             : TERN_PATH_INSERT_MANY;
}

/* Where load and store reached all, nothing is to be flushed. */
static tern_status many_flush(tern_worker *worker, const tern_hashtable *table,
                              const tern_items *items, tern_flags flags, bool here) {
    if (items->kind == TERN_OP_FIND || !here || table->all_near ||
        !tern_growth_flushes(table, tern_flags_promise(flags)))
        return TERN_OK;
    return tern_puts_flush_all(worker);
}

static tern_status many_check_owners(const tern_hashtable *table, const tern_items *items,
                                     tern_flags flags) {
    tern_status status = TERN_OK;
    if (tern_flags_promise(flags) != TERN_LOCAL)
        return TERN_OK;
    for (size_t i = 0; i < items->count && status == TERN_OK; i++) {
        const uint64_t hash = tern_hash_of_bytes(table, items->keys + i * items->key_step);
        status = tern_hashtable_check_owner(table, tern_hash_owner(table, hash), flags,
                                            "a batch of a hash table");
    }
    return status;
}

tern_status tern_items_do(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                          tern_flags flags, tern_outcomes *out) {
    out->stored = 0;
    tern_status status = many_check_owners(table, items, flags);
    if (status != TERN_OK)
        return status;
    const bool local_in_place = tern_flags_way(flags) == TERN_AUTO;
    const bool calls =
        tern_table_batch_way(worker, table, many_path(table, items), flags, items->keys,
                             items->key_step, items->count) == TERN_BY_CALL;
    status = calls ? tern_items_ask(worker, table, items, local_in_place, out)
                   : tern_items_here(worker, table, items, out);
    const tern_status flushed = many_flush(worker, table, items, flags, !calls || local_in_place);
    status = status == TERN_OK ? flushed : status;
    if (status == TERN_OK && items->kind != TERN_OP_FIND && out->stored < items->count)
        status = tern_fail(TERN_ERR_FULL, "%zu of %zu keys found no room in the table; %s",
                           items->count - out->stored, items->count, tern_table_room_remedy(table));
    return status;
}

tern_status tern_hashtable_insert_many(tern_worker *worker, tern_hashtable *table, const void *keys,
                                       const void *values, size_t count, tern_flags flags,
                                       size_t *done) {
    static const char name[] = "tern_hashtable_insert_many";
    size_t bytes = 0;
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
    const tern_items items = {.kind = TERN_OP_INSERT,
                              .keys = keys,
                              .values =
                                  values == NULL ? name : values, /* its place alone matters */
                              .key_step = table->key_bytes,
                              .value_step = table->value_bytes,
                              .count = count,
                              .owner = TERN_NOBODY};
    tern_outcomes out = {0};
    status = tern_items_do(worker, table, &items, flags, &out);
    if (done != NULL)
        *done = out.stored;
    return status;
}

tern_status tern_hashtable_add_many(tern_worker *worker, tern_hashtable *table, const void *keys,
                                    size_t count, uint64_t delta, tern_flags flags, size_t *done) {
    static const char name[] = "tern_hashtable_add_many";
    tern_status status =
        tern_hashtable_check(worker, table, count > 0 ? keys : name, flags, TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_hashtable_check_kind(table, 1, name);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    const tern_items items = {.kind = TERN_OP_ADD,
                              .keys = keys,
                              .key_step = table->key_bytes,
                              .count = count,
                              .number = delta,
                              .owner = TERN_NOBODY};
    tern_outcomes out = {0};
    status = tern_items_do(worker, table, &items, flags, &out);
    if (done != NULL)
        *done = out.stored;
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
                                     unsigned char *found, size_t *done) {
    tern_status status = check_find(worker, table, keys, count, flags, values, found);
    if (status != TERN_OK)
        return status;
    static char nothing[1];
    const tern_items items = {.kind = TERN_OP_FIND,
                              .promise = tern_flags_promise(flags),
                              .keys = keys,
                              .key_step = table->key_bytes,
                              .count = count,
                              .owner = TERN_NOBODY};
    tern_outcomes out = {.values = values == NULL ? nothing : values, .found = found};
    status = tern_items_do(worker, table, &items, flags, &out);
    if (status == TERN_OK && done != NULL)
        *done = out.stored;
    return status;
}
