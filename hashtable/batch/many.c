#include "tern/hashtable.h"

#include "hashtable/batch/ask.h"
#include "hashtable/arrays/arrays.h"

/* The public operations on many keys: they check the arguments, and then work on the keys by
 * load/store where that reaches all of them, through a pipeline of operations, or by call.
 */
/* [out] bytes: of count things. TERN_ERR_ARGUMENT: no memory can hold them. */
static tern_status many_extent(const char *name, size_t count, size_t each, size_t *bytes) {
    if (each > 0 && count > PTRDIFF_MAX / each)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: count is %zu; no memory holds so many keys or values of %zu bytes",
                         name, count, each);
    *bytes = count * each;
    return TERN_OK;
}

static bool many_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
    return a_bytes > 0 && b_bytes > 0 && first < second + b_bytes && second < first + a_bytes;
}

/* The owner for which the batch chooses its path: that of the first key on another node, else of a
 * key that this process does not reach. If the program names the path, any owner does. */
static uint32_t many_owner(const tern_hashtable *table, const tern_items *items, tern_flags flags) {
    uint32_t found = table->rank;
    for (size_t i = 0; i < items->count && tern_path_is_open(flags) && !table->all_direct; i++) {
        const uint64_t hash = tern_hash_of_bytes(table, items->keys + i * items->key_step);
        const uint32_t owner = tern_hash_owner(table, hash);
        if (!tern_same_node(table->context, owner))
            return owner;
        found = tern_op_is_remote(table, owner) ? owner : found;
    }
    return found;
}

/* Chooses one path for all keys. [out] calls: keys go by call, except where tern_batch_stays. */
static tern_status many_choose(tern_worker *worker, const tern_hashtable *table,
                               const tern_items *items, tern_flags flags, const char *name,
                               bool *calls) {
    const uint8_t form =
        items->kind == TERN_OP_ADD && items->values != NULL ? TERN_BUNDLE_NUMBERED : 0;
    tern_path_question question = tern_items_question(worker, table, items->kind, form,
                                                      many_owner(table, items, flags), flags, name);
    tern_pick pick;
    question.may_measure = true;
    const tern_status status = tern_choose(&question, &pick);
    *calls = status == TERN_OK && pick.flag == TERN_BY_CALL;
    return status;
}

/* Flushes the puts of a batch. If load and store reach all parts, there is nothing to flush. */
static tern_status many_flush(tern_worker *worker, const tern_hashtable *table,
                              const tern_items *items, tern_flags flags) {
    if (items->kind == TERN_OP_FIND || (flags & TERN_BY_CALL) != 0 || table->all_direct ||
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
                          tern_flags flags, const char *name, tern_outcomes *out, size_t *done) {
    const bool finds = items->kind == TERN_OP_FIND;
    bool calls;
    out->stored = 0;
    tern_status status = many_choose(worker, table, items, flags, name, &calls);
    if (status != TERN_OK)
        return status;
    status = many_check_owners(table, items, flags);
    if (status == TERN_OK) {
        status = calls ? tern_items_ask(worker, table, items, flags, out)
                       : tern_items_without_calls(worker, table, items, out);
        const tern_status flushed = many_flush(worker, table, items, flags);
        status = status == TERN_OK ? flushed : status;
    }
    if (done != NULL && (!finds || status == TERN_OK))
        *done = out->stored;
    if (status == TERN_OK && !finds && out->stored < items->count)
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
                              .values = values == NULL ? name : values, /* 0 bytes are read of it */
                              .key_step = table->key_bytes,
                              .value_step = table->value_bytes,
                              .count = count,
                              .owner = TERN_NOBODY};
    tern_outcomes out = {0};
    return tern_items_do(worker, table, &items, flags, name, &out, done);
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
    return tern_items_do(worker, table, &items, flags, name, &out, done);
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
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: keys, values and found overlap; give each its own memory", name);
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
    return tern_items_do(worker, table, &items, flags, "tern_hashtable_find_many", &out, done);
}
