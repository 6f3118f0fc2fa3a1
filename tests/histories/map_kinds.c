#include "histories/record.h"
#include "tern/map.h"

/* What can be done with a map: as with a table of values, but that each value has a size of its
 * own, which follows from its number. Small ones lie in the table, others in blocks. */

static size_t size_of(uint64_t number) {
    static const size_t sizes[] = {8, 16, 100, 600, HISTORY_BYTES};
    return sizes[number % (sizeof sizes / sizeof *sizes)];
}

/* Keys of 8 bytes, and long ones that begin alike. */
static size_t make_key(char key[64], uint64_t object) {
    memset(key, 'k', 56);
    size_t at = object % 2 == 0 ? 0 : 56;
    memcpy(key + at, &object, sizeof object);
    return at + sizeof object;
}

static tern_status run_insert(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char key[64], value[HISTORY_BYTES];
    int existed = -1;
    size_t bytes = size_of(o->argument[0]);
    history_fill(value, bytes, o->object, o->argument[0]);
    tern_status status = tern_map_insert(worker, target->map, key, make_key(key, o->object), value,
                                         bytes, o->flags, &existed);
    o->result = (uint64_t)existed;
    return status;
}

static tern_status run_insert_new(tern_worker *worker, const history_target *target,
                                  history_operation *o) {
    char key[64], value[HISTORY_BYTES];
    int existed = -1;
    size_t bytes = size_of(o->argument[0]);
    history_fill(value, bytes, o->object, o->argument[0]);
    tern_status status = tern_map_insert_new(worker, target->map, key, make_key(key, o->object),
                                             value, bytes, o->flags, &existed);
    o->result = (uint64_t)existed;
    return status;
}

static tern_status run_erase(tern_worker *worker, const history_target *target,
                             history_operation *o) {
    char key[64];
    return tern_map_erase(worker, target->map, key, make_key(key, o->object), o->flags);
}

/* Its argument is the new value; it tells the number of the one before. */
static tern_status history_map_replace(tern_map_modify_info *info) {
    uint64_t object = 0, before = 0;
    memcpy(&object, (const char *)info->key + info->key_bytes - sizeof object, sizeof object);
    if (info->existed)
        before = history_number(info->value, info->value_bytes, object);
    memcpy(info->result, &before, sizeof before);
    info->result_bytes = sizeof before;
    tern_status status = tern_map_resize(info, info->argument_bytes);
    if (status == TERN_OK)
        memcpy(info->value, info->argument, info->argument_bytes);
    return status;
}
TERN_MAP_MODIFIER_ANY_THREAD(history_map_replace)

enum { WAS_ABSENT = 1 }; /* no argument is so small */

static tern_status run_modify(tern_worker *worker, const history_target *target,
                              history_operation *o) {
    char key[64], value[HISTORY_BYTES];
    int existed = 0;
    size_t bytes = size_of(o->argument[0]);
    history_fill(value, bytes, o->object, o->argument[0]);
    tern_status status = tern_map_modify(worker, target->map, key, make_key(key, o->object),
                                         &history_map_replace_modifier,
                                         &(tern_modify_options){.argument = value,
                                                                .argument_bytes = bytes,
                                                                .absent = TERN_ABSENT_INSERT,
                                                                .result = &o->result,
                                                                .capacity = sizeof o->result},
                                         o->flags, &existed);
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
    char key[64], value[HISTORY_BYTES];
    size_t bytes = 0;
    tern_status status = tern_map_find(worker, target->map, key, make_key(key, o->object), o->flags,
                                       value, sizeof value, &bytes);
    if (status != TERN_OK)
        return status;
    o->result = bytes >= 8 ? history_number(value, bytes, o->object) : UINT64_MAX;
    if (bytes != size_of(o->result))
        o->result = UINT64_MAX;
    return status;
}

/* Batches do not tell whether a key was there. */
static bool step_store(history_state *state, const history_operation *o) {
    state->word[0] = 1;
    state->word[1] = o->argument[0];
    return o->status == TERN_OK;
}

static size_t run_insert_many(tern_worker *worker, const history_target *target,
                              history_operation *o, size_t count) {
    char key[HISTORY_MANY][64] = {0}, value[HISTORY_MANY][HISTORY_BYTES] = {0};
    tern_map_item item[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = size_of(o[i].argument[0]);
        history_fill(value[i], bytes, o[i].object, o[i].argument[0]);
        item[i] = (tern_map_item){key[i], value[i], make_key(key[i], o[i].object), bytes};
    }
    tern_status status = tern_map_insert_many(worker, target->map, item, count, o->flags, NULL);
    for (size_t i = 0; i < count; i++)
        o[i].status = status;
    return count;
}

/* In no order, unlike inserts of one key. */
static size_t run_find_many(tern_worker *worker, const history_target *target, history_operation *o,
                            size_t count) {
    char key[HISTORY_MANY][64] = {0}, value[HISTORY_MANY][HISTORY_BYTES] = {0};
    tern_map_slot slot[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++)
        slot[i] =
            (tern_map_slot){key[i], make_key(key[i], o[i].object), value[i], sizeof value[i], 0, 0};
    tern_status status = tern_map_find_many(worker, target->map, slot, count, o->flags, NULL);
    for (size_t i = 0; i < count; i++) {
        o[i].chain = 0;
        o[i].status = status != TERN_OK || slot[i].found ? status : TERN_ERR_NOT_FOUND;
        if (status != TERN_OK || !slot[i].found)
            continue;
        o[i].result = slot[i].value_bytes >= 8
                          ? history_number(value[i], slot[i].value_bytes, o[i].object)
                          : UINT64_MAX;
        if (slot[i].value_bytes != size_of(o[i].result))
            o[i].result = UINT64_MAX;
    }
    return count;
}

/* Several finds under way at once, in no order. */
static size_t run_find_requests(tern_worker *worker, const history_target *target,
                                history_operation *o, size_t count) {
    char key[64], values[HISTORY_MANY][HISTORY_BYTES];
    tern_request request[HISTORY_MANY] = {0};
    for (size_t i = 0; i < count; i++) {
        o[i].chain = 0;
        o[i].call = history_clock();
        o[i].status = tern_map_find_start(worker, target->map, key, make_key(key, o[i].object),
                                          o[i].flags, values[i], sizeof values[i], &request[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (o[i].status == TERN_OK)
            o[i].status = tern_wait(worker, &request[i]);
        o[i].done = history_clock();
        const size_t bytes = tern_request_result(&request[i]);
        if (o[i].status != TERN_OK)
            continue;
        o[i].result = bytes >= 8 ? history_number(values[i], bytes, o[i].object) : UINT64_MAX;
        if (bytes != size_of(o[i].result))
            o[i].result = UINT64_MAX;
    }
    return count;
}

static const history_kind map_kinds[] = {
    {"insert", run_insert, history_step_insert, .in_writes = true},
    {"modify", run_modify, step_modify, .in_writes = true},
    {"insert_new", run_insert_new, history_step_insert_new, .in_writes = true},
    {"erase", run_erase, history_step_erase, .in_writes = true},
    {"find", run_find, history_step_find, .in_reads = true},
    {"insert_many", NULL, step_store, .in_writes = true, .run_many = run_insert_many},
    {"find_many", NULL, history_step_find, .in_reads = true, .run_many = run_find_many},
    {"find_start", NULL, history_step_find, .in_reads = true, .run_many = run_find_requests},
};

const history_kinds history_of_maps = {map_kinds, sizeof map_kinds / sizeof *map_kinds};
