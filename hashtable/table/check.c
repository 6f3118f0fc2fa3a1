#include "hashtable/table/table.h"

/* Checks the arguments of operations, and writes the texts of their outcomes. */

tern_status tern_hashtable_check(const tern_worker *worker, const tern_hashtable *table,
                                 const void *keys, tern_flags flags, tern_flags excluded,
                                 const char *name) {
    if (worker == NULL || table == NULL || keys == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         worker == NULL  ? "worker"
                         : table == NULL ? "table"
                                         : "key");
    if (worker->context != table->context)
        return tern_object_refuse(table->context, name, "table");
    return tern_flags_check(flags, excluded, name);
}

tern_status tern_modify_check(const char *name, bool has_modifier,
                              const tern_modify_options *options) {
    const bool no_argument = options->argument == NULL && options->argument_bytes > 0;
    if (!has_modifier || no_argument || (options->result == NULL && options->capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         !has_modifier ? "modifier"
                         : no_argument ? "argument"
                                       : "result");
    if ((unsigned)options->absent > TERN_ABSENT_INSERT)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: absent is %d; pass TERN_ABSENT_FAIL or TERN_ABSENT_INSERT", name,
                         (int)options->absent);
    return TERN_OK;
}

tern_status tern_modify_result(const tern_modify_options *options, const void *result,
                               size_t bytes) {
    if (bytes > options->capacity)
        return tern_fail(TERN_ERR_RANGE, "the result has %zu bytes; there is room for %zu", bytes,
                         options->capacity);
    if (bytes > 0)
        memcpy(options->result, result, bytes);
    if (options->result_bytes != NULL)
        *options->result_bytes = bytes;
    return TERN_OK;
}

tern_status tern_hashtable_check_owner(const tern_hashtable *table, uint32_t owner,
                                       tern_flags flags, const char *name) {
    if (tern_flags_promise(flags) != TERN_LOCAL || owner == table->rank)
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT,
                     "%s: the key belongs to rank %u, and with the promise TERN_LOCAL a rank works "
                     "on keys of its own; ask the owner of a key, or leave the promise out",
                     name, owner);
}

tern_status tern_hashtable_check_kind(const tern_hashtable *table, int counter, const char *name) {
    if (tern_shape_counts(table->shape) == counter)
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED, "%s: the table has %s", name,
                     counter ? "values; create it with counter = 1"
                             : "counters; use tern_hashtable_add");
}

const char *tern_table_room_remedy(const tern_hashtable *table) {
    return table->grows ? "a rank had no memory for a larger part; raise TERN_SEGMENT_SIZE"
                        : "create it with grow = 1 or a greater capacity";
}

tern_status tern_hashtable_outcome(const tern_hashtable *table, uint32_t owner,
                                   tern_status status) {
    if (status == TERN_ERR_FULL && table->grows)
        return tern_fail(status,
                         "rank %u's part is full, and that rank had no memory for a larger one; "
                         "raise TERN_SEGMENT_SIZE (now %zu) if its segment is full",
                         owner, table->context->config.segment_size);
    if (status == TERN_ERR_FULL)
        return tern_fail(status,
                         "all %llu buckets of rank %u's part belong to other keys, or no memory "
                         "was left to make it anew without erased ones; %s, or raise "
                         "TERN_SEGMENT_SIZE if the segment is full",
                         (unsigned long long)table->buckets, owner, tern_table_room_remedy(table));
    if (status == TERN_ERR_NOT_FOUND)
        return tern_fail_static_text(status, "no such key");
    return status;
}
