#include "tern/hashtable_request.h"

#include "hashtable/call.h"
#include "hashtable/operations.h"
#include "hashtable/far/requests.h"
#include "hashtable/batch/run.h"

/* The public operations that start and return: done at once, as a flight, or as a call. */

/* What was asked for. */
typedef struct asked {
    const char *name;
    const void *key;
    tern_flight_plan plan;
    tern_flags flags;
} asked;

static bool is_find(const asked *a) { return a->plan.kind == TERN_FLIGHT_FIND; }
static bool is_add(const asked *a) { return a->plan.kind == TERN_FLIGHT_ADD; }

/* Whether a call has room for the operation. */
static tern_status check_call(const tern_hashtable *table, const asked *a) {
    return is_find(a)  ? tern_call_check_find(table)
           : is_add(a) ? TERN_OK
                       : tern_call_check_insert(table);
}

static tern_status table_request_check(const tern_worker *worker, const tern_hashtable *table,
                                       const asked *a, const tern_request *request) {
    tern_flags excluded = is_find(a) ? TERN_WRITE_ONLY : TERN_READ_ONLY;
    tern_status status = tern_hashtable_check(worker, table, a->key, a->flags, excluded, a->name);
    if (status == TERN_OK && !is_find(a))
        status = tern_hashtable_check_kind(table, is_add(a), a->name);
    if (status != TERN_OK)
        return status;
    status = tern_request_check(request, a->name);
    if (status != TERN_OK)
        return status;
    const void *value = is_find(a) ? a->plan.taken : a->plan.given;
    if (value == NULL && !is_add(a) && tern_found_bytes(table) > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: value is NULL", a->name);
    return tern_flags_way(a->flags) == TERN_BY_CALL || table->call_only ? check_call(table, a)
                                                                        : TERN_OK;
}

static tern_flags way_of(tern_worker *worker, const tern_hashtable *table, const asked *a,
                         uint32_t owner) {
    const tern_path_kind kind = is_find(a)  ? TERN_PATH_FIND
                                : is_add(a) ? TERN_PATH_ADD
                                            : TERN_PATH_INSERT;
    const tern_flags wish = tern_flags_way(a->flags),
                     via = wish == TERN_AUTO ? table->only[kind] : wish;
    if (via != TERN_AUTO)
        return via;
    const tern_path_target target = tern_table_target(table, owner);
    return tern_selector_way(worker, kind, &target, false);
}

/* Does the operation. */
static tern_status do_now(tern_worker *worker, tern_hashtable *table, const asked *a,
                          uint32_t owner, const tern_table_key *key, tern_request *request) {
    const tern_flight_plan *o = &a->plan;
    uint64_t result = 0;
    bool existed = false;
    tern_status status;
    if (is_find(a))
        status = tern_operation_find(worker, table, key->words, key->hash, o->promise, o->taken);
    else if (is_add(a))
        status =
            tern_operation_add(worker, table, key->words, key->hash, o->delta, o->promise, &result);
    else
        status = tern_operation_insert(worker, table, key->words, key->hash, o->given,
                                       o->kind == TERN_FLIGHT_INSERT_NEW, o->promise, &existed);
    if (status != TERN_OK && status != TERN_ERR_NOT_FOUND && status != TERN_ERR_FULL)
        return status;
    tern_request_begin(request, &tern_flight_request, owner);
    tern_request_end(request, status, is_add(a) ? result : existed);
    return TERN_OK;
}

static tern_status start_call(tern_worker *worker, const tern_hashtable *table, const asked *a,
                              uint32_t owner, const tern_table_key *key, tern_request *request) {
    const tern_flight_plan *o = &a->plan;
    tern_status status;
    if (is_find(a))
        status = tern_call_find_start(worker, table, owner, key, o->taken, request);
    else if (is_add(a))
        status = tern_call_add_start(worker, table, owner, key, o->delta, request);
    else
        status = tern_call_insert_start(worker, table, owner, key, o->given,
                                        o->kind == TERN_FLIGHT_INSERT_NEW, request);
    if (status == TERN_OK)
        request->kind = &tern_table_call_request;
    return status;
}

static tern_status table_request_start(tern_worker *worker, tern_hashtable *table, const asked *a,
                                       tern_request *request) {
    tern_status status = table_request_check(worker, table, a, request);
    if (status != TERN_OK)
        return status;
    tern_table_key key;
    tern_key_load(table, a->key, &key);
    const uint32_t owner = tern_hash_owner(table, key.hash);
    const tern_flags via = way_of(worker, table, a, owner);
    const bool flies = tern_flight_takes(table, owner, a->plan.kind);
    if (via == TERN_BY_CALL && owner == table->rank)
        (void)tern_progress_round(worker);
    else if (via == TERN_BY_CALL || flies)
        status = tern_worker_may_wait(worker, a->name);
    if (status != TERN_OK)
        return status;
    if (via == TERN_BY_CALL ? owner == table->rank : !flies)
        return do_now(worker, table, a, owner, &key, request);
    if (via == TERN_BY_CALL)
        return start_call(worker, table, a, owner, &key, request);
    return tern_requests_fly(worker, table, a->key, key.hash, &a->plan, owner, request);
}

tern_status tern_hashtable_find_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                      tern_flags flags, void *value, tern_request *request) {
    const asked a = {"tern_hashtable_find_start",
                     key,
                     {.kind = TERN_FLIGHT_FIND,
                      .follows = true,
                      .promise = tern_flags_promise(flags),
                      .taken = value},
                     flags};
    return table_request_start(worker, table, &a, request);
}

tern_status tern_hashtable_insert_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                        const void *value, tern_flags flags,
                                        tern_request *request) {
    const asked a = {"tern_hashtable_insert_start",
                     key,
                     {.kind = TERN_FLIGHT_INSERT,
                      .follows = true,
                      .promise = tern_flags_promise(flags),
                      .given = value},
                     flags};
    return table_request_start(worker, table, &a, request);
}

tern_status tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table,
                                            const void *key, const void *value, tern_flags flags,
                                            tern_request *request) {
    const asked a = {"tern_hashtable_insert_new_start",
                     key,
                     {.kind = TERN_FLIGHT_INSERT_NEW,
                      .follows = true,
                      .promise = tern_flags_promise(flags),
                      .given = value},
                     flags};
    return table_request_start(worker, table, &a, request);
}

tern_status tern_hashtable_add_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                     uint64_t delta, tern_flags flags, tern_request *request) {
    const asked a = {"tern_hashtable_add_start",
                     key,
                     {.kind = TERN_FLIGHT_ADD,
                      .follows = true,
                      .promise = tern_flags_promise(flags),
                      .delta = delta},
                     flags};
    return table_request_start(worker, table, &a, request);
}
