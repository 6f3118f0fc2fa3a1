#include "tern/hashtable_request.h"

#include "hashtable/call.h"
#include "hashtable/operations.h"
#include "hashtable/far/requests.h"
#include "hashtable/batch/run.h"
#include "rma/reply.h"
#include "rma/transport/transport.h"

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
                                       const asked *a, const tern_hashtable_request *request) {
    tern_flags excluded = is_find(a) ? TERN_WRITE_ONLY : TERN_READ_ONLY;
    tern_status status = tern_hashtable_check(worker, table, a->key, a->flags, excluded, a->name);
    if (status == TERN_OK && !is_find(a))
        status = tern_hashtable_check_kind(table, is_add(a), a->name);
    if (status != TERN_OK)
        return status;
    if (request == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: request is NULL", a->name);
    if (request->state[TERN_REQUEST_HOW] != TERN_REQUEST_COMPLETE)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: the request is under way, or was not zeroed before its first use",
                         a->name);
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
                          const tern_table_key *key, tern_hashtable_request *request) {
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
    tern_request_done(request, status, is_add(a) ? result : existed);
    return TERN_OK;
}

static tern_status start_call(tern_worker *worker, const tern_hashtable *table, const asked *a,
                              uint32_t owner, const tern_table_key *key,
                              tern_hashtable_request *request) {
    const tern_flight_plan *o = &a->plan;
    tern_future future = {{0, 0}};
    tern_status status;
    if (is_find(a))
        status = tern_call_find_start(worker, table, owner, key, &future);
    else if (is_add(a))
        status = tern_call_add_start(worker, table, owner, key, o->delta, &future);
    else
        status = tern_call_insert_start(worker, table, owner, key, o->given,
                                        o->kind == TERN_FLIGHT_INSERT_NEW, &future);
    if (status != TERN_OK)
        return status;
    memcpy(&request->state[TERN_REQUEST_FUTURE], &future, sizeof future);
    request->state[TERN_REQUEST_TAKEN] = (uintptr_t)o->taken;
    request->state[TERN_REQUEST_BYTES] = is_find(a) ? tern_found_bytes(table) : 0;
    request->state[TERN_REQUEST_HOW] = TERN_REQUEST_CALLS;
    return TERN_OK;
}

static tern_status table_request_start(tern_worker *worker, tern_hashtable *table, const asked *a,
                                       tern_hashtable_request *request) {
    tern_status status = table_request_check(worker, table, a, request);
    if (status != TERN_OK)
        return status;
    tern_table_key key;
    tern_key_load(table, a->key, &key);
    const uint32_t owner = tern_hash_owner(table, key.hash);
    const tern_flags via = way_of(worker, table, a, owner);
    request->state[TERN_REQUEST_OWNER] = owner;
    if (via == TERN_BY_CALL && owner == table->rank)
        (void)tern_progress_round(worker);
    else if (via == TERN_BY_CALL || tern_flight_takes(table, key.hash))
        status = tern_worker_may_wait(worker, a->name);
    if (status != TERN_OK)
        return status;
    if (via == TERN_BY_CALL ? owner == table->rank : !tern_flight_takes(table, key.hash))
        return do_now(worker, table, a, &key, request);
    if (via == TERN_BY_CALL)
        return start_call(worker, table, a, owner, &key, request);
    return tern_requests_fly(worker, table, a->key, key.hash, &a->plan, request);
}

tern_status tern_hashtable_find_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                      tern_flags flags, void *value,
                                      tern_hashtable_request *request) {
    const asked a = {
        "tern_hashtable_find_start",
        key,
        {.kind = TERN_FLIGHT_FIND, .promise = tern_flags_promise(flags), .taken = value},
        flags};
    return table_request_start(worker, table, &a, request);
}

tern_status tern_hashtable_insert_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                        const void *value, tern_flags flags,
                                        tern_hashtable_request *request) {
    const asked a = {
        "tern_hashtable_insert_start",
        key,
        {.kind = TERN_FLIGHT_INSERT, .promise = tern_flags_promise(flags), .given = value},
        flags};
    return table_request_start(worker, table, &a, request);
}

tern_status tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table,
                                            const void *key, const void *value, tern_flags flags,
                                            tern_hashtable_request *request) {
    const asked a = {
        "tern_hashtable_insert_new_start",
        key,
        {.kind = TERN_FLIGHT_INSERT_NEW, .promise = tern_flags_promise(flags), .given = value},
        flags};
    return table_request_start(worker, table, &a, request);
}

tern_status tern_hashtable_add_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                     uint64_t delta, tern_flags flags,
                                     tern_hashtable_request *request) {
    const asked a = {
        "tern_hashtable_add_start",
        key,
        {.kind = TERN_FLIGHT_ADD, .promise = tern_flags_promise(flags), .delta = delta},
        flags};
    return table_request_start(worker, table, &a, request);
}

/* Waits for the answer of a call and notes it. */
static void take_answer(tern_worker *worker, tern_hashtable_request *request) {
    uint64_t *state = request->state, result = 0;
    const size_t bytes = state[TERN_REQUEST_BYTES];
    void *to = (void *)(uintptr_t)state[TERN_REQUEST_TAKEN];
    tern_future future;
    memcpy(&future, &state[TERN_REQUEST_FUTURE], sizeof future);
    tern_status status = to != NULL
                             ? tern_future_wait(worker, &future, to, bytes, NULL)
                             : tern_future_wait(worker, &future, &result, sizeof result, NULL);
    tern_error_clear(); /* the wait for the request tells it */
    tern_request_done(request, status, result);
}

static tern_status check_request(const tern_worker *worker, const tern_hashtable_request *requests,
                                 size_t count, const char *name) {
    if (worker != NULL && (requests != NULL || count == 0))
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                     worker == NULL ? "worker" : "request");
}

tern_status tern_hashtable_request_test(tern_worker *worker, tern_hashtable_request *request,
                                        int *done) {
    static const char name[] = "tern_hashtable_request_test";
    tern_status status = check_request(worker, request, 1, name);
    if (status == TERN_OK && done == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: done is NULL", name);
    if (status != TERN_OK)
        return status;
    uint64_t *state = request->state;
    if (state[TERN_REQUEST_HOW] != TERN_REQUEST_COMPLETE && !worker->in_handler &&
        !worker->in_progress) {
        int arrived = 0;
        tern_future future;
        (void)tern_puts_deliver(worker); /* the owner may wait for them */
        memcpy(&future, &state[TERN_REQUEST_FUTURE], sizeof future);
        if (state[TERN_REQUEST_HOW] == TERN_REQUEST_FLIES)
            (void)tern_progress(worker);
        else if (tern_future_test(worker, &future, &arrived) != TERN_OK || arrived)
            take_answer(worker, request);
    }
    *done = state[TERN_REQUEST_HOW] == TERN_REQUEST_COMPLETE;
    return TERN_OK;
}

/* A death ends the flight in progress. */
static void wait_for_flight(tern_worker *worker, const tern_hashtable_request *request) {
    const uint32_t owner = (uint32_t)request->state[TERN_REQUEST_OWNER];
    tern_wait_state wait = TERN_WAIT_START;
    while (request->state[TERN_REQUEST_HOW] == TERN_REQUEST_FLIES) {
        (void)tern_puts_deliver(worker); /* other flights may have put meanwhile */
        (void)tern_progress_round(worker);
        if (request->state[TERN_REQUEST_HOW] == TERN_REQUEST_FLIES)
            (void)tern_wait_step(worker->context, &wait, owner);
    }
}

static tern_status table_request_tell(const tern_hashtable_request *request, uint64_t *result) {
    const tern_status status = (tern_status)request->state[TERN_REQUEST_OUTCOME];
    const uint32_t owner = (uint32_t)request->state[TERN_REQUEST_OWNER];
    if (status == TERN_OK) {
        if (result != NULL)
            *result = request->state[TERN_REQUEST_RESULT];
        return TERN_OK;
    }
    if (status == TERN_ERR_NOT_FOUND)
        return tern_fail(status, "no such key");
    if (status == TERN_ERR_FULL)
        return tern_fail(status,
                         "all buckets of rank %u's part belong to other keys, erased ones too; "
                         "clear the table, create it with a greater capacity or, if it grows, "
                         "raise TERN_SEGMENT_SIZE",
                         owner);
    return tern_fail(status, "an operation on rank %u's part failed while it was under way: %s",
                     owner, tern_strerror(status));
}

tern_status tern_hashtable_request_wait(tern_worker *worker, tern_hashtable_request *request,
                                        uint64_t *result) {
    static const char name[] = "tern_hashtable_request_wait";
    tern_status status = check_request(worker, request, 1, name);
    if (status == TERN_OK && request->state[TERN_REQUEST_HOW] != TERN_REQUEST_COMPLETE)
        status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    if (request->state[TERN_REQUEST_HOW] == TERN_REQUEST_CALLS)
        take_answer(worker, request);
    wait_for_flight(worker, request);
    return table_request_tell(request, result);
}

tern_status tern_hashtable_request_wait_all(tern_worker *worker, tern_hashtable_request *requests,
                                            size_t count) {
    tern_status status = check_request(worker, requests, count, "tern_hashtable_request_wait_all");
    tern_status first = TERN_OK;
    for (size_t i = 0; i < count && status == TERN_OK; i++) {
        tern_status outcome = tern_hashtable_request_wait(worker, &requests[i], NULL);
        if (requests[i].state[TERN_REQUEST_HOW] != TERN_REQUEST_COMPLETE)
            status = outcome; /* in a handler */
        else if (first == TERN_OK)
            first = outcome;
    }
    if (status != TERN_OK || first == TERN_OK)
        return status;
    for (size_t i = 0;; i++) /* its detail */
        if (requests[i].state[TERN_REQUEST_OUTCOME] == (uint64_t)first)
            return table_request_tell(&requests[i], NULL);
}
