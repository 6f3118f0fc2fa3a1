#include "tern/hashtable.h"

#include "hashtable/batch/ask.h"
#include "hashtable/op/begin.h"
#include "hashtable/op/pool.h"

/* The public operations that start an op in the worker's pool, or a call, and return at once. */

static tern_status request_start(const tern_asked *asked, tern_request *request) {
    tern_table_key k;
    tern_pick pick;
    tern_status status = tern_request_check(request, asked->name);
    if (status == TERN_OK)
        status = tern_asked_choose(asked, false, &k, &pick);
    if (status == TERN_OK && pick.path != TERN_PATH_DIRECT)
        status = tern_worker_may_wait(asked->worker, asked->name);
    if (status != TERN_OK)
        return status;
    tern_op op;
    tern_asked_begin(asked, &k, &op);
    if (pick.path != TERN_PATH_CALL)
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
