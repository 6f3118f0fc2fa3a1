#include "histories/record.h"

/* What can be done with a table of values, a table of counters and a queue: how, and what it may
 * give when nothing else runs. */

/* A key that is present has word 0 set; its value's number, or its counter, is word 1. */

static tern_status run_insert(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char value[TERN_RESULT_MAX];
    int existed = -1;
    history_fill(value, target->bytes, o->object, o->argument[0]);
    tern_status status = tern_hashtable_insert(worker, target->table, &o->object, value, o->promise,
                                               o->via, &existed);
    o->result = (uint64_t)existed;
    return status;
}

static bool step_insert(history_state *state, const history_operation *o) {
    bool right = o->status == TERN_OK && o->result == state->word[0];
    state->word[0] = 1;
    state->word[1] = o->argument[0];
    return right;
}

static tern_status run_insert_new(tern_worker *worker, const history_target *target,
                                  history_operation *o) {
    char value[TERN_RESULT_MAX];
    int existed = -1;
    history_fill(value, target->bytes, o->object, o->argument[0]);
    tern_status status = tern_hashtable_insert_new(worker, target->table, &o->object, value,
                                                   o->promise, o->via, &existed);
    o->result = (uint64_t)existed;
    return status;
}

static bool step_insert_new(history_state *state, const history_operation *o) {
    return state->word[0] ? o->status == TERN_OK && o->result == 1 : step_insert(state, o);
}

static tern_status run_erase(tern_worker *worker, const history_target *target,
                             history_operation *o) {
    return tern_hashtable_erase(worker, target->table, &o->object, o->promise, o->via);
}

static bool step_erase(history_state *state, const history_operation *o) {
    bool right = o->status == (state->word[0] ? TERN_OK : TERN_ERR_NOT_FOUND);
    state->word[0] = state->word[1] = 0;
    return right;
}

/* Its argument is the new value; it tells the number of the one before. */
static tern_status history_replace(tern_modify_info *info, void *value) {
    uint64_t object, before;
    memcpy(&object, info->key, sizeof object);
    before = history_number(value, info->argument_bytes, object);
    memcpy(info->result, &before, sizeof before);
    info->result_bytes = sizeof before;
    memcpy(value, info->argument, info->argument_bytes);
    return TERN_OK;
}
TERN_MODIFIER(history_replace)

enum { WAS_ABSENT = 1 }; /* no argument is so small */

static tern_status run_modify(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char value[TERN_RESULT_MAX];
    int existed = 0;
    history_fill(value, target->bytes, o->object, o->argument[0]);
    tern_status status = tern_hashtable_modify(
        worker, target->table, &o->object, &history_replace_modifier, value, target->bytes,
        TERN_ABSENT_INSERT, o->promise, &o->result, sizeof o->result, NULL, &existed);
    if (!existed)
        o->result = WAS_ABSENT;
    return status;
}

static bool step_modify(history_state *state, const history_operation *o) {
    bool right =
        o->status == TERN_OK && o->result == (state->word[0] ? state->word[1] : WAS_ABSENT);
    state->word[0] = 1;
    state->word[1] = o->argument[0];
    return right;
}

static tern_status run_find(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    char value[TERN_RESULT_MAX];
    tern_status status =
        tern_hashtable_find(worker, target->table, &o->object, o->promise, o->via, value);
    if (status == TERN_OK)
        o->result = history_number(value, target->bytes, o->object);
    return status;
}

static bool step_find(history_state *state, const history_operation *o) {
    return state->word[0] ? o->status == TERN_OK && o->result == state->word[1]
                          : o->status == TERN_ERR_NOT_FOUND;
}

const history_kind history_value_kinds[] = {
    {"insert", run_insert, step_insert, .in_writes = true},
    {"insert_new", run_insert_new, step_insert_new, .in_writes = true},
    {"erase", run_erase, step_erase, .in_writes = true},
    {"modify", run_modify, step_modify, .in_writes = true},
    {"find", run_find, step_find, .in_reads = true},
    {"find", run_find, step_find, .in_reads = true},
};
const size_t history_value_count = sizeof history_value_kinds / sizeof *history_value_kinds;

static tern_status run_add(tern_worker *worker, const history_target *target,
                           history_operation *o) {
    return tern_hashtable_add(worker, target->table, &o->object, o->argument[0], o->promise, o->via,
                              &o->result);
}

static bool step_add(history_state *state, const history_operation *o) {
    bool right = o->status == TERN_OK && o->result == state->word[1];
    state->word[0] = 1;
    state->word[1] += o->argument[0];
    return right;
}

static tern_status run_count(tern_worker *worker, const history_target *target,
                             history_operation *o) {
    return tern_hashtable_find(worker, target->table, &o->object, o->promise, o->via, &o->result);
}

/* It expects what the thread last saw, of whatever key. */
static _Thread_local uint64_t last_seen;

static tern_status run_swap(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    o->argument[1] = last_seen;
    tern_status status =
        tern_hashtable_compare_swap(worker, target->table, &o->object, o->argument[1],
                                    o->argument[0], o->promise, o->via, &o->result);
    if (status == TERN_OK)
        last_seen = o->result == o->argument[1] ? o->argument[0] : o->result;
    return status;
}

static bool step_swap(history_state *state, const history_operation *o) {
    if (!state->word[0])
        return o->status == TERN_ERR_NOT_FOUND;
    bool right = o->status == TERN_OK && o->result == state->word[1];
    if (state->word[1] == o->argument[1])
        state->word[1] = o->argument[0];
    return right;
}

const history_kind history_counter_kinds[] = {
    {"add", run_add, step_add, .in_writes = true},
    {"compare_swap", run_swap, step_swap, .in_writes = true},
    {"compare_swap", run_swap, step_swap, .in_writes = true},
    {"erase", run_erase, step_erase, .in_writes = true},
    {"find", run_count, step_find, .in_reads = true},
    {"find", run_count, step_find, .in_reads = true},
};
const size_t history_counter_count = sizeof history_counter_kinds / sizeof *history_counter_kinds;

/* A queue: word 0 is its capacity, word 1 how many items it holds; they follow, oldest first, and
 * behind them zeros. */

static tern_status run_push(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    char item[TERN_RESULT_MAX];
    history_fill(item, target->bytes, 0, o->argument[0]);
    return tern_queue_try_push(worker, target->queue, item, o->promise, o->via);
}

static bool step_push(history_state *state, const history_operation *o) {
    if (state->word[1] == state->word[0])
        return o->status == TERN_ERR_FULL;
    state->word[2 + state->word[1]++] = o->argument[0];
    return o->status == TERN_OK;
}

static tern_status run_pop(tern_worker *worker, const history_target *target,
                           history_operation *o) {
    char item[TERN_RESULT_MAX];
    tern_status status = tern_queue_try_pop(worker, target->queue, item, o->promise, o->via);
    if (status == TERN_OK)
        o->result = history_number(item, target->bytes, 0);
    return status;
}

static bool step_pop(history_state *state, const history_operation *o) {
    if (state->word[1] == 0)
        return o->status == TERN_ERR_EMPTY;
    uint64_t oldest = state->word[2], left = --state->word[1];
    memmove(state->word + 2, state->word + 3, left * sizeof oldest);
    state->word[2 + left] = 0;
    return o->status == TERN_OK && o->result == oldest;
}

const history_kind history_queue_kinds[] = {
    {"push", run_push, step_push, .in_writes = true},
    {"pop", run_pop, step_pop, .in_reads = true},
};
const size_t history_queue_count = sizeof history_queue_kinds / sizeof *history_queue_kinds;
