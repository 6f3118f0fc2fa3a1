#include "histories/record.h"

/* Operations of hash tables that start and return, several of one worker under way at once. */

/* Starts number i, whose value is at value, in its history's kind. */
typedef tern_status starter(tern_worker *worker, const history_target *target,
                            const history_operation *o, char *value, tern_request *request);

/* In no order, also on one key. Each has been called when it is started, and done when the wait for
 * it returns; its result is then in the request. */
static size_t run_requests(tern_worker *worker, const history_target *target, history_operation *o,
                           size_t count, starter *start, char *values) {
    tern_request request[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++) {
        o[i].chain = 0;
        o[i].call = history_clock();
        o[i].status = start(worker, target, &o[i], values + i * target->bytes, &request[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (o[i].status == TERN_OK) {
            o[i].status = tern_wait(worker, &request[i]);
            o[i].result = tern_request_result(&request[i]);
        }
        o[i].done = history_clock();
    }
    return count;
}

static tern_status start_insert(tern_worker *worker, const history_target *target,
                                const history_operation *o, char *value, tern_request *request) {
    history_fill(value, target->bytes, o->object, o->argument[0]);
    return tern_hashtable_insert_start(worker, target->table, &o->object, value, o->flags, request);
}

static tern_status start_insert_new(tern_worker *worker, const history_target *target,
                                    const history_operation *o, char *value,
                                    tern_request *request) {
    history_fill(value, target->bytes, o->object, o->argument[0]);
    return tern_hashtable_insert_new_start(worker, target->table, &o->object, value, o->flags,
                                           request);
}

static tern_status start_find(tern_worker *worker, const history_target *target,
                              const history_operation *o, char *value, tern_request *request) {
    return tern_hashtable_find_start(worker, target->table, &o->object, o->flags, value, request);
}

static tern_status start_add(tern_worker *worker, const history_target *target,
                             const history_operation *o, char *value, tern_request *request) {
    (void)value;
    return tern_hashtable_add_start(worker, target->table, &o->object, o->argument[0], o->flags,
                                    request);
}

size_t history_insert_requests(tern_worker *worker, const history_target *target,
                               history_operation *o, size_t count) {
    char values[HISTORY_MANY * TERN_RESULT_MAX];
    return run_requests(worker, target, o, count, start_insert, values);
}

size_t history_insert_new_requests(tern_worker *worker, const history_target *target,
                                   history_operation *o, size_t count) {
    char values[HISTORY_MANY * TERN_RESULT_MAX];
    return run_requests(worker, target, o, count, start_insert_new, values);
}

size_t history_find_requests(tern_worker *worker, const history_target *target,
                             history_operation *o, size_t count) {
    char values[HISTORY_MANY * TERN_RESULT_MAX] = {0};
    run_requests(worker, target, o, count, start_find, values);
    for (size_t i = 0; i < count; i++)
        if (o[i].status == TERN_OK)
            o[i].result = history_number(values + i * target->bytes, target->bytes, o[i].object);
    return count;
}

size_t history_count_requests(tern_worker *worker, const history_target *target,
                              history_operation *o, size_t count) {
    uint64_t numbers[HISTORY_MANY] = {0};
    run_requests(worker, target, o, count, start_find, (char *)numbers);
    for (size_t i = 0; i < count; i++)
        if (o[i].status == TERN_OK)
            o[i].result = numbers[i];
    return count;
}

size_t history_add_requests(tern_worker *worker, const history_target *target, history_operation *o,
                            size_t count) {
    uint64_t none[HISTORY_MANY];
    return run_requests(worker, target, o, count, start_add, (char *)none);
}
