#include "tern/hashtable_request.h"

#include "hashtable/call.h"
#include "hashtable/op/begin.h"
#include "hashtable/op/pool.h"

/* The public operations that start and return: an op in the worker's pool, or a call. */

static tern_flags way_of(tern_worker *worker, const tern_hashtable *table, tern_op_kind kind,
                         uint32_t owner, tern_flags flags) {
    const tern_path_kind path = tern_op_path(kind, table);
    const tern_flags wish = tern_flags_way(flags),
                     via = wish == TERN_AUTO ? table->only[path] : wish;
    if (via != TERN_AUTO)
        return via;
    const tern_path_target target = tern_table_target(table, owner);
    return tern_selector_way(worker, path, &target, false);
}

static tern_status op_request_start(const tern_op_arguments *arguments, tern_worker *worker,
                                    tern_hashtable *table, const void *key, tern_flags flags,
                                    tern_request *request, const char *name) {
    tern_status status = tern_op_check(arguments, worker, table, key, flags, name);
    if (status == TERN_OK)
        status = tern_request_check(request, name);
    if (status != TERN_OK)
        return status;
    tern_table_key k;
    tern_key_load(table, key, &k);
    const uint32_t owner = tern_hash_owner(table, k.hash);
    tern_op op;
    tern_op_begin(&op, arguments, worker, table, &k, flags);
    const bool calls = way_of(worker, table, arguments->kind, owner, flags) == TERN_BY_CALL;
    if (calls && owner == table->rank)
        (void)tern_progress_round(worker);
    else if (calls || tern_op_is_remote(table, owner))
        status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    if (!calls || owner == table->rank)
        return tern_pool_start(&op, request);
    status = tern_op_call(&op, request);
    if (status == TERN_OK)
        request->kind = &tern_table_call_request;
    return status;
}

tern_status tern_hashtable_find_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                      tern_flags flags, void *value, tern_request *request) {
    const tern_op_arguments op = {.kind = TERN_OP_FIND, .taken = value};
    return op_request_start(&op, worker, table, key, flags, request, __func__);
}

tern_status tern_hashtable_insert_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                        const void *value, tern_flags flags,
                                        tern_request *request) {
    const tern_op_arguments op = {.kind = TERN_OP_INSERT, .given = value};
    return op_request_start(&op, worker, table, key, flags, request, __func__);
}

tern_status tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table,
                                            const void *key, const void *value, tern_flags flags,
                                            tern_request *request) {
    const tern_op_arguments op = {.kind = TERN_OP_INSERT_NEW, .given = value};
    return op_request_start(&op, worker, table, key, flags, request, __func__);
}

tern_status tern_hashtable_add_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                     uint64_t delta, tern_flags flags, tern_request *request) {
    const tern_op_arguments op = {.kind = TERN_OP_ADD, .number = delta};
    return op_request_start(&op, worker, table, key, flags, request, __func__);
}
