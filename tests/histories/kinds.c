#include "histories/record.h"

/* What can be done with a table of values and a table of counters: how, and what it may give when
 * nothing else runs. */

static tern_status run_insert(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char value[TERN_RESULT_MAX];
    int existed = -1;
    history_fill(value, target->bytes, o->object, o->argument[0]);
    tern_status status =
        tern_hashtable_insert(worker, target->table, &o->object, value, o->flags, &existed);
    o->result = (uint64_t)existed;
    return status;
}

bool history_step_insert(history_state *state, const history_operation *o) {
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
    tern_status status =
        tern_hashtable_insert_new(worker, target->table, &o->object, value, o->flags, &existed);
    o->result = (uint64_t)existed;
    return status;
}

bool history_step_insert_new(history_state *state, const history_operation *o) {
    return state->word[0] ? o->status == TERN_OK && o->result == 1 : history_step_insert(state, o);
}

static tern_status run_erase(tern_worker *worker, const history_target *target,
                             history_operation *o) {
    return tern_hashtable_erase(worker, target->table, &o->object, o->flags);
}

bool history_step_erase(history_state *state, const history_operation *o) {
    bool right = o->status == (state->word[0] ? TERN_OK : TERN_ERR_NOT_FOUND);
    state->word[0] = state->word[1] = 0;
    return right;
}

/* Its argument is the new value; it tells the number of the one before. */
static tern_status history_replace(tern_hashtable_modify_info *info, void *value) {
    uint64_t object, before;
    memcpy(&object, info->key, sizeof object);
    before = history_number(value, info->argument_bytes, object);
    memcpy(info->result, &before, sizeof before);
    info->result_bytes = sizeof before;
    memcpy(value, info->argument, info->argument_bytes);
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(history_replace)

enum { WAS_ABSENT = 1 }; /* no argument is so small */

static tern_status run_modify(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char value[TERN_RESULT_MAX];
    int existed = 0;
    history_fill(value, target->bytes, o->object, o->argument[0]);
    tern_status status =
        tern_hashtable_modify(worker, target->table, &o->object, &history_replace_modifier,
                              &(tern_modify_options){.argument = value,
                                                     .argument_bytes = target->bytes,
                                                     .absent = TERN_ABSENT_INSERT,
                                                     .result = &o->result,
                                                     .capacity = sizeof o->result},
                              o->flags & TERN_PROMISES, &existed);
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
    tern_status status = tern_hashtable_find(worker, target->table, &o->object, o->flags, value);
    if (status == TERN_OK)
        o->result = history_number(value, target->bytes, o->object);
    return status;
}

bool history_step_find(history_state *state, const history_operation *o) {
    return state->word[0] ? o->status == TERN_OK && o->result == state->word[1]
                          : o->status == TERN_ERR_NOT_FOUND;
}

/* Batches and buffers do not tell whether a key was there. */
static bool step_store(history_state *state, const history_operation *o) {
    state->word[0] = 1;
    state->word[1] = o->argument[0];
    return o->status == TERN_OK;
}

static void share_status(history_operation *o, size_t count, tern_status status) {
    for (size_t i = 0; i < count; i++)
        o[i].status = status;
}

static size_t run_insert_many(tern_worker *worker, const history_target *target,
                              history_operation *o, size_t count) {
    char values[HISTORY_MANY * TERN_RESULT_MAX] = {0}, *at = values;
    uint64_t keys[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++, at += target->bytes) {
        keys[i] = o[i].object;
        history_fill(at, target->bytes, keys[i], o[i].argument[0]);
    }
    share_status(
        o, count,
        tern_hashtable_insert_many(worker, target->table, keys, values, count, o->flags, NULL));
    return count;
}

/* In no order, unlike inserts of one key. */
static size_t run_find_many(tern_worker *worker, const history_target *target, history_operation *o,
                            size_t count) {
    char values[HISTORY_MANY * TERN_RESULT_MAX] = {0}, *at = values;
    unsigned char found[HISTORY_MANY];
    uint64_t keys[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++)
        keys[i] = o[i].object;
    tern_status status =
        tern_hashtable_find_many(worker, target->table, keys, count, o->flags, values, found, NULL);
    for (size_t i = 0; i < count; i++, at += target->bytes) {
        o[i].chain = 0;
        o[i].status = status != TERN_OK || found[i] ? status : TERN_ERR_NOT_FOUND;
        if (status == TERN_OK && found[i])
            o[i].result = history_number(at, target->bytes, keys[i]);
    }
    return count;
}

static tern_status give_insert(tern_worker *worker, tern_hashtable_buffer *buffer,
                               const history_target *target, const history_operation *o) {
    char value[TERN_RESULT_MAX];
    history_fill(value, target->bytes, o->object, o->argument[0]);
    return tern_hashtable_buffer_insert(worker, buffer, &o->object, value);
}

static const history_kind value_kinds[] = {
    {"insert", run_insert, history_step_insert, .in_writes = true},
    {"insert_new", run_insert_new, history_step_insert_new, .in_writes = true},
    {"erase", run_erase, history_step_erase, .in_writes = true},
    {"modify", run_modify, step_modify, .in_writes = true},
    {"find", run_find, history_step_find, .in_reads = true},
    {"find", run_find, history_step_find, .in_reads = true},
    {"insert_many", NULL, step_store, .in_writes = true, .run_many = run_insert_many},
    {"find_many", NULL, history_step_find, .in_reads = true, .run_many = run_find_many},
    {"insert_start", NULL, history_step_insert, .in_writes = true,
     .run_many = history_insert_requests},
    {"insert_new_start", NULL, history_step_insert_new, .in_writes = true,
     .run_many = history_insert_new_requests},
    {"find_start", NULL, history_step_find, .in_reads = true, .run_many = history_find_requests},
    {"buffer_insert", NULL, step_store, .in_writes = true, .give = give_insert},
    {"buffer_insert", NULL, step_store, .in_writes = true, .give = give_insert},
};

#define KINDS(list)                                                                                \
    { list, sizeof list / sizeof *list }

const history_kinds history_of_values = KINDS(value_kinds);

static tern_status run_add(tern_worker *worker, const history_target *target,
                           history_operation *o) {
    return tern_hashtable_add(worker, target->table, &o->object, o->argument[0], o->flags,
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
    return tern_hashtable_find(worker, target->table, &o->object, o->flags, &o->result);
}

/* It expects what the thread last saw, of whatever key. */
static _Thread_local uint64_t last_seen;

static tern_status run_swap(tern_worker *worker, const history_target *target,
                            history_operation *o) {
    o->argument[1] = last_seen;
    tern_status status = tern_hashtable_compare_swap(
        worker, target->table, &o->object, o->argument[1], o->argument[0], o->flags, &o->result);
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

static bool step_count(history_state *state, const history_operation *o) {
    state->word[0] = 1;
    state->word[1] += o->argument[0];
    return o->status == TERN_OK;
}

static size_t run_add_many(tern_worker *worker, const history_target *target, history_operation *o,
                           size_t count) {
    uint64_t keys[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++) {
        keys[i] = o[i].object;
        o[i].argument[0] = o->argument[0];
    }
    share_status(o, count,
                 tern_hashtable_add_many(worker, target->table, keys, count, o->argument[0],
                                         o->flags, NULL));
    return count;
}

static tern_status give_add(tern_worker *worker, tern_hashtable_buffer *buffer,
                            const history_target *target, const history_operation *o) {
    (void)target;
    return tern_hashtable_buffer_add(worker, buffer, &o->object, o->argument[0]);
}

static const history_kind counter_kinds[] = {
    {"add", run_add, step_add, .in_writes = true},
    {"compare_swap", run_swap, step_swap, .in_writes = true},
    {"compare_swap", run_swap, step_swap, .in_writes = true},
    {"erase", run_erase, history_step_erase, .in_writes = true},
    {"find", run_count, history_step_find, .in_reads = true},
    {"find", run_count, history_step_find, .in_reads = true},
    {"add_many", NULL, step_count, .in_writes = true, .run_many = run_add_many},
    {"add_start", NULL, step_add, .in_writes = true, .run_many = history_add_requests},
    {"find_start", NULL, history_step_find, .in_reads = true, .run_many = history_count_requests},
    {"buffer_add", NULL, step_count, .in_writes = true, .give = give_add},
};

const history_kinds history_of_counters = KINDS(counter_kinds);
