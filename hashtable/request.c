#include "tern/hashtable.h"

#include "hashtable/batch/ask.h"
#include "hashtable/op/begin.h"
#include "hashtable/op/pool.h"

/* The public operations that start and return: an op in the worker's pool, or a call. */

static tern_flags way_of(const tern_asked *asked, uint32_t owner) {
    const tern_path_kind kind = tern_op_path(asked->kind, asked->table);
    const tern_flags wish = tern_flags_way(asked->flags),
                     via = wish == TERN_AUTO ? asked->table->only[kind] : wish;
    if (via != TERN_AUTO)
        return via;
    const tern_path_target target = tern_table_target(asked->table, owner);
    return tern_selector_way(asked->worker, kind, &target, false);
}

static tern_status request_start(const tern_asked *asked, tern_request *request) {
    const tern_hashtable *table = asked->table;
    tern_status status = tern_asked_check(asked);
    if (status == TERN_OK)
        status = tern_request_check(request, asked->name);
    if (status != TERN_OK)
        return status;
    tern_table_key k;
    tern_key_load(table, asked->key, &k);
    const uint32_t owner = tern_hash_owner(table, k.hash);
    status = tern_hashtable_check_owner(table, owner, asked->flags, asked->name);
    if (status != TERN_OK)
        return status;
    tern_op op;
    tern_asked_begin(asked, &k, &op);
    const bool calls = way_of(asked, owner) == TERN_BY_CALL;
    if (calls && owner == table->rank)
        (void)tern_progress_round(asked->worker);
    else if (calls || tern_op_is_remote(table, owner))
        status = tern_worker_may_wait(asked->worker, asked->name);
    if (status != TERN_OK)
        return status;
    if (!calls || owner == table->rank)
        return tern_pool_start(&op, request);
    status = tern_op_call(&op, request);
    if (status == TERN_OK)
        request->kind = &tern_table_call_request;
    return status;
}

#define START(...)                                                                                 \
    request_start(&(const tern_asked){__VA_ARGS__, .worker = worker, .table = table, .key = key,   \
                                      .flags = flags, .name = __func__},                           \
                  request)

tern_status tern_hashtable_find_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                      tern_flags flags, void *value, tern_request *request) {
    return START(.kind = TERN_OP_FIND, .taken = value);
}

tern_status tern_hashtable_insert_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                        const void *value, tern_flags flags,
                                        tern_request *request) {
    return START(.kind = TERN_OP_INSERT, .given = value);
}

tern_status tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table,
                                            const void *key, const void *value, tern_flags flags,
                                            tern_request *request) {
    return START(.kind = TERN_OP_INSERT_NEW, .given = value);
}

tern_status tern_hashtable_add_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                     uint64_t delta, tern_flags flags, tern_request *request) {
    return START(.kind = TERN_OP_ADD, .number = delta);
}
