/*
 * What test_flip.c does while a bit is damaged. An operation has two halves: the first half starts
 * what can be started; then test_flip.c flips the bit; the second half ends the operation.
 */

#ifndef TERN_TESTS_HARNESS_FLIP_OPERATIONS_H
#define TERN_TESTS_HARNESS_FLIP_OPERATIONS_H

#include "flip_scene.h"

typedef struct flip_run {
    flip_scene *s;
    tern_flags path;
    bool checks; /* what comes back has to be a value that was there */
    tern_request request;
    uint64_t number, item[4];
    uint64_t large[FLIP_LARGE / 8];
} flip_run;

typedef struct flip_operation {
    const char *name;
    unsigned group;
    tern_flags path;
    tern_status (*begin)(flip_run *r); /* NULL: nothing */
    tern_status (*end)(flip_run *r);
} flip_operation;

static const tern_flags flip_all = TERN_READ_WRITE;

static inline void flip_check(const flip_run *r, tern_status status, uint64_t value) {
    if (r->checks && status == TERN_OK && !flip_is_value(value))
        fprintf(stderr, "flip: a value that was never there: %llu\n", (unsigned long long)value);
    CU_ASSERT(!r->checks || status != TERN_OK || flip_is_value(value));
}

static inline tern_status flip_checked(const flip_run *r, tern_status status, uint64_t value) {
    flip_check(r, status, value);
    return status;
}

#define FLIP_END(name) static inline tern_status flip_##name(flip_run *r)
#define FLIP_W r->s->f.worker
#define FLIP_FLAGS (flip_all | r->path)

/* ---- Tables ---- */

FLIP_END(insert) {
    const uint64_t value = 7001;
    return tern_hashtable_insert(FLIP_W, r->s->pairs, &r->s->pair, &value, FLIP_FLAGS, NULL);
}
FLIP_END(insert_fresh) {
    const uint64_t value = 7001, key = flip_key(r->s->pairs, r->s->fresh);
    return tern_hashtable_insert(FLIP_W, r->s->pairs, &key, &value, FLIP_FLAGS, NULL);
}
FLIP_END(insert_new) {
    const uint64_t value = 7002;
    return tern_hashtable_insert_new(FLIP_W, r->s->pairs, &r->s->pair, &value, FLIP_FLAGS, NULL);
}
FLIP_END(find) {
    const tern_status status =
        tern_hashtable_find(FLIP_W, r->s->pairs, &r->s->pair, FLIP_FLAGS, &r->number);
    return flip_checked(r, status, r->number);
}
FLIP_END(find_still) {
    const tern_status status =
        tern_hashtable_find(FLIP_W, r->s->pairs, &r->s->pair, TERN_READ_ONLY | r->path, &r->number);
    return flip_checked(r, status, r->number);
}
FLIP_END(erase) { return tern_hashtable_erase(FLIP_W, r->s->pairs, &r->s->pair, FLIP_FLAGS); }
FLIP_END(insert_many) {
    const uint64_t values[2] = {7003, 7003}, keys[2] = {r->s->pair, r->s->pair + 1};
    size_t stored;
    return tern_hashtable_insert_many(FLIP_W, r->s->pairs, keys, values, 2, FLIP_FLAGS, &stored);
}
FLIP_END(find_many) {
    const uint64_t keys[2] = {r->s->pair, r->s->pair + 1};
    uint64_t values[2] = {7000, 7000};
    unsigned char found[2];
    size_t present;
    const tern_status status =
        tern_hashtable_find_many(FLIP_W, r->s->pairs, keys, 2, FLIP_FLAGS, values, found, &present);
    return flip_checked(r, status, values[0]);
}
static inline tern_status flip_table_seven(tern_hashtable_modify_info *info, void *value) {
    const uint64_t seven = 7007;
    (void)info;
    memcpy(value, &seven, sizeof seven);
    return TERN_OK;
}
TERN_HASHTABLE_MODIFIER(flip_table_seven)
FLIP_END(table_modify) {
    return tern_hashtable_modify(FLIP_W, r->s->pairs, &r->s->pair, &flip_table_seven_modifier,
                                 &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, flip_all,
                                 NULL);
}
FLIP_END(table_modify_there) {
    return tern_hashtable_modify(FLIP_W, r->s->pairs, &r->s->pair, &flip_table_seven_modifier, NULL,
                                 flip_all, NULL);
}
FLIP_END(start_insert) {
    r->item[0] = 7004;
    return tern_hashtable_insert_start(FLIP_W, r->s->pairs, &r->s->pair, r->item, FLIP_FLAGS,
                                       &r->request);
}
FLIP_END(start_find) {
    return tern_hashtable_find_start(FLIP_W, r->s->pairs, &r->s->pair, FLIP_FLAGS, &r->number,
                                     &r->request);
}
FLIP_END(wait) { return tern_wait(FLIP_W, &r->request); }
FLIP_END(wait_found) { return flip_checked(r, tern_wait(FLIP_W, &r->request), r->number); }
FLIP_END(fill_pairs) {
    const uint64_t value = 7005;
    return tern_hashtable_buffer_insert(FLIP_W, r->s->pair_buffer, &r->s->pair, &value);
}
FLIP_END(flush_pairs) {
    uint64_t refused;
    return tern_hashtable_buffer_flush(FLIP_W, r->s->pair_buffer, &refused);
}
FLIP_END(add) {
    return tern_hashtable_add(FLIP_W, r->s->counters, &r->s->counter, 1, FLIP_FLAGS, &r->number);
}
FLIP_END(find_counter) {
    return tern_hashtable_find(FLIP_W, r->s->counters, &r->s->counter, FLIP_FLAGS, &r->number);
}
FLIP_END(swap_counter) {
    return tern_hashtable_compare_swap(FLIP_W, r->s->counters, &r->s->counter, 1, 2, FLIP_FLAGS,
                                       &r->number);
}
FLIP_END(erase_counter) {
    return tern_hashtable_erase(FLIP_W, r->s->counters, &r->s->counter, FLIP_FLAGS);
}
FLIP_END(add_many) {
    const uint64_t keys[2] = {r->s->counter, r->s->counter + 1};
    size_t added;
    return tern_hashtable_add_many(FLIP_W, r->s->counters, keys, 2, 1, FLIP_FLAGS, &added);
}
FLIP_END(start_add) {
    return tern_hashtable_add_start(FLIP_W, r->s->counters, &r->s->counter, 1, FLIP_FLAGS,
                                    &r->request);
}
FLIP_END(fill_counters) {
    return tern_hashtable_buffer_add(FLIP_W, r->s->counter_buffer, &r->s->counter, 1);
}
FLIP_END(flush_counters) {
    uint64_t refused;
    return tern_hashtable_buffer_flush(FLIP_W, r->s->counter_buffer, &refused);
}
FLIP_END(grown_insert) {
    const uint64_t value = 7001;
    return tern_hashtable_insert(FLIP_W, r->s->growing, &r->s->grown, &value, FLIP_FLAGS, NULL);
}
/* Inserts so many keys that the part grows. */
FLIP_END(grow) {
    const uint64_t value = 7001;
    tern_status status = TERN_OK;
    for (int i = 0; i < 24 && status == TERN_OK; i++) {
        r->s->fresh = flip_key(r->s->growing, r->s->fresh + 1);
        status =
            tern_hashtable_insert(FLIP_W, r->s->growing, &r->s->fresh, &value, FLIP_FLAGS, NULL);
    }
    return status;
}
FLIP_END(grown_find) {
    const tern_status status =
        tern_hashtable_find(FLIP_W, r->s->growing, &r->s->grown, FLIP_FLAGS, &r->number);
    return flip_checked(r, status, r->number);
}
FLIP_END(grown_erase) {
    return tern_hashtable_erase(FLIP_W, r->s->growing, &r->s->grown, FLIP_FLAGS);
}

/* ---- Maps ---- */

FLIP_END(map_insert) {
    const uint64_t value = 7001;
    return tern_map_insert(FLIP_W, r->s->map, &r->s->small, 8, &value, 8, r->path, NULL);
}
FLIP_END(map_insert_new) {
    const uint64_t value = 7002;
    return tern_map_insert_new(FLIP_W, r->s->map, &r->s->small, 8, &value, 8, r->path, NULL);
}
FLIP_END(map_find) {
    size_t got;
    const tern_status status =
        tern_map_find(FLIP_W, r->s->map, &r->s->small, 8, r->path, &r->number, 8, &got);
    return flip_checked(r, status, r->number);
}
FLIP_END(map_erase) { return tern_map_erase(FLIP_W, r->s->map, &r->s->small, 8, r->path); }
FLIP_END(map_add) {
    return flip_checked(r, tern_map_add(FLIP_W, r->s->map, &r->s->small, 8, 1, r->path, &r->number),
                        r->number);
}
FLIP_END(map_swap) {
    return tern_map_compare_swap(FLIP_W, r->s->map, &r->s->small, 8, 7000, 7001, r->path,
                                 &r->number);
}
static inline tern_status flip_map_seven(tern_map_modify_info *info) {
    const uint64_t seven = 7007;
    for (size_t at = 0; at + 8 <= info->value_bytes; at += 8)
        memcpy((char *)info->value + at, &seven, sizeof seven);
    return TERN_OK;
}
TERN_MAP_MODIFIER(flip_map_seven)
FLIP_END(map_modify) {
    return tern_map_modify(FLIP_W, r->s->map, &r->s->small, 8, &flip_map_seven_modifier, NULL,
                           r->path, NULL);
}
FLIP_END(map_modify_large) {
    return tern_map_modify(FLIP_W, r->s->map, &r->s->large, 8, &flip_map_seven_modifier,
                           &(tern_modify_options){.absent = TERN_ABSENT_INSERT}, r->path, NULL);
}
FLIP_END(map_insert_large) {
    for (size_t i = 0; i < FLIP_LARGE / 8; i++)
        r->large[i] = 7001;
    return tern_map_insert(FLIP_W, r->s->map, &r->s->large, 8, r->large, sizeof r->large, r->path,
                           NULL);
}
FLIP_END(map_find_large) {
    size_t got;
    const tern_status status =
        tern_map_find(FLIP_W, r->s->map, &r->s->large, 8, r->path, r->large, sizeof r->large, &got);
    for (size_t i = 0; i < FLIP_LARGE / 8; i++)
        flip_check(r, status, r->large[i]);
    return status;
}
FLIP_END(map_find_alloc) {
    void *value = NULL;
    size_t got;
    const tern_status status =
        tern_map_find_alloc(FLIP_W, r->s->map, &r->s->large, 8, r->path, &value, &got);
    if (status == TERN_OK)
        flip_check(r, status, *(const uint64_t *)value);
    free(status == TERN_OK ? value : NULL);
    return status;
}
FLIP_END(map_erase_large) { return tern_map_erase(FLIP_W, r->s->map, &r->s->large, 8, r->path); }
FLIP_END(map_find_many) {
    tern_map_slot slots[2] = {
        {.key = &r->s->small, .key_bytes = 8, .value = &r->number, .room = 8},
        {.key = &r->s->large, .key_bytes = 8, .value = r->large, .room = sizeof r->large}};
    size_t present;
    const tern_status status = tern_map_find_many(FLIP_W, r->s->map, slots, 2, r->path, &present);
    if (status == TERN_OK && slots[0].found)
        flip_check(r, status, r->number);
    if (status == TERN_OK && slots[1].found)
        flip_check(r, status, r->large[0]);
    return status;
}
FLIP_END(map_insert_many) {
    const uint64_t value = 7003;
    const tern_map_item items[2] = {{&r->s->small, &value, 8, 8}, {&r->s->large, &value, 8, 8}};
    size_t stored;
    return tern_map_insert_many(FLIP_W, r->s->map, items, 2, r->path, &stored);
}
FLIP_END(map_add_many) {
    const tern_map_item items[1] = {{&r->s->small, NULL, 8, 0}};
    size_t added;
    return tern_map_add_many(FLIP_W, r->s->map, items, 1, 1, r->path, &added);
}
FLIP_END(map_start_find) {
    return tern_map_find_start(FLIP_W, r->s->map, &r->s->large, 8, r->path, r->large,
                               sizeof r->large, &r->request);
}
FLIP_END(map_wait_large) { return flip_checked(r, tern_wait(FLIP_W, &r->request), r->large[0]); }
FLIP_END(map_start_insert) {
    r->item[0] = 7004;
    return tern_map_insert_start(FLIP_W, r->s->map, &r->s->small, 8, r->item, 8, r->path,
                                 &r->request);
}
FLIP_END(map_start_insert_new) {
    r->item[0] = 7004;
    return tern_map_insert_new_start(FLIP_W, r->s->map, &r->s->small, 8, r->item, 8, r->path,
                                     &r->request);
}
FLIP_END(map_start_add) {
    return tern_map_add_start(FLIP_W, r->s->map, &r->s->small, 8, 1, r->path, &r->request);
}
FLIP_END(map_fill) {
    const uint64_t value = 7005;
    return tern_map_buffer_insert(FLIP_W, r->s->map_buffer, &r->s->small, 8, &value, 8);
}
FLIP_END(map_fill_add) { return tern_map_buffer_add(FLIP_W, r->s->map_buffer, &r->s->small, 8, 1); }
FLIP_END(map_flush) {
    uint64_t refused;
    return tern_map_buffer_flush(FLIP_W, r->s->map_buffer, &refused);
}

/* ---- Queues ---- */

FLIP_END(try_push) {
    const uint64_t item = 7001;
    return tern_queue_try_push(FLIP_W, r->s->queue, &item, FLIP_FLAGS);
}
FLIP_END(try_pop) {
    const tern_status status = tern_queue_try_pop(FLIP_W, r->s->queue, &r->number, FLIP_FLAGS);
    return flip_checked(r, status, r->number);
}
FLIP_END(push_timed) {
    const uint64_t item = 7001;
    return tern_queue_push_timed(FLIP_W, r->s->queue, &item, 0.01, FLIP_FLAGS);
}
FLIP_END(pop_timed) {
    const tern_status status =
        tern_queue_pop_timed(FLIP_W, r->s->queue, &r->number, 0.01, FLIP_FLAGS);
    return flip_checked(r, status, r->number);
}
FLIP_END(push) {
    const uint64_t item = 7001;
    return tern_queue_push(FLIP_W, r->s->queue, &item, FLIP_FLAGS);
}
FLIP_END(pop) {
    const tern_status status = tern_queue_pop(FLIP_W, r->s->queue, &r->number, FLIP_FLAGS);
    return flip_checked(r, status, r->number);
}
FLIP_END(push_many) {
    const uint64_t items[2] = {7001, 7002};
    size_t pushed;
    return tern_queue_push_many(FLIP_W, r->s->queue, items, 2, FLIP_FLAGS, &pushed);
}

/* ---- Calls, memory, locks ---- */

static const tern_worker_id flip_target = {0, 0};

FLIP_END(call_return) {
    r->item[0] = 7000;
    r->item[1] = 0;
    size_t got;
    const tern_status status =
        tern_call_return(FLIP_W, flip_target, &flip_sum_function, r->item, 16, &r->number, 8, &got);
    return flip_checked(r, status, r->number);
}
FLIP_END(start_call) {
    r->item[0] = 7000;
    r->item[1] = 0;
    return tern_call_start(FLIP_W, flip_target, &flip_sum_function, r->item, 16, &r->number, 8,
                           &r->request);
}
FLIP_END(call_try) {
    r->item[0] = 7000;
    return tern_call_try(FLIP_W, flip_target, &flip_sum_function, r->item, 8);
}
FLIP_END(call_flush) { return tern_call_flush(FLIP_W, flip_target); }
FLIP_END(put) {
    r->item[0] = 7000;
    const tern_status status = tern_put(FLIP_W, r->s->memory[0], r->item, 8);
    return status == TERN_OK ? tern_flush_all(FLIP_W) : status;
}
FLIP_END(get) { return tern_get(FLIP_W, &r->number, r->s->memory[0], 8); }
FLIP_END(atomic) {
    return tern_atomic_fetch_add(FLIP_W, tern_ptr_add(r->s->memory[0], 8), 1, &r->number);
}
FLIP_END(notify) {
    r->item[0] = r->item[1] = 7000;
    return tern_put_notify(
        FLIP_W, flip_target, r->s->memory[0], r->item, 8,
        &(tern_notify_options){.cid = r->item + 1, .cid_bytes = 8, .flags = TERN_NOTIFY_NO_LOCAL});
}
FLIP_END(flush) { return tern_flush_all(FLIP_W); }
FLIP_END(lock) {
    const tern_status status = tern_lock_acquire(FLIP_W, r->s->locks, 0);
    return status == TERN_OK ? tern_lock_release(FLIP_W, r->s->locks, 0) : status;
}

#undef FLIP_END
#undef FLIP_W
#undef FLIP_FLAGS

#define FLIP_BOTH(group, name, begin, end)                                                         \
    {name " by rma", group, TERN_BY_RMA, begin, end}, {                                            \
        name " by call", group, TERN_BY_CALL, begin, end                                           \
    }

static const flip_operation flip_operations[] = {
    FLIP_BOTH(FLIP_TABLES, "insert", NULL, flip_insert),
    FLIP_BOTH(FLIP_TABLES, "insert of a new key", NULL, flip_insert_fresh),
    FLIP_BOTH(FLIP_TABLES, "insert_new", NULL, flip_insert_new),
    FLIP_BOTH(FLIP_TABLES, "find", NULL, flip_find),
    FLIP_BOTH(FLIP_TABLES, "find, read only", NULL, flip_find_still),
    FLIP_BOTH(FLIP_TABLES, "erase", NULL, flip_erase),
    FLIP_BOTH(FLIP_TABLES, "insert_many", NULL, flip_insert_many),
    FLIP_BOTH(FLIP_TABLES, "find_many", NULL, flip_find_many),
    {"modify", FLIP_TABLES, TERN_BY_CALL, NULL, flip_table_modify},
    {"modify what is there", FLIP_TABLES, TERN_BY_CALL, NULL, flip_table_modify_there},
    FLIP_BOTH(FLIP_TABLES, "insert_start", flip_start_insert, flip_wait),
    FLIP_BOTH(FLIP_TABLES, "find_start", flip_start_find, flip_wait_found),
    {"buffer of pairs", FLIP_TABLES, TERN_BY_CALL, flip_fill_pairs, flip_flush_pairs},
    FLIP_BOTH(FLIP_COUNTERS, "add", NULL, flip_add),
    FLIP_BOTH(FLIP_COUNTERS, "find of a counter", NULL, flip_find_counter),
    FLIP_BOTH(FLIP_COUNTERS, "compare_swap", NULL, flip_swap_counter),
    FLIP_BOTH(FLIP_COUNTERS, "erase of a counter", NULL, flip_erase_counter),
    FLIP_BOTH(FLIP_COUNTERS, "add_many", NULL, flip_add_many),
    FLIP_BOTH(FLIP_COUNTERS, "add_start", flip_start_add, flip_wait),
    {"buffer of counters", FLIP_COUNTERS, TERN_BY_CALL, flip_fill_counters, flip_flush_counters},
    FLIP_BOTH(FLIP_GROWN, "insert where keys move", NULL, flip_grown_insert),
    FLIP_BOTH(FLIP_GROWN, "growth", NULL, flip_grow),
    FLIP_BOTH(FLIP_GROWN, "find where keys move", NULL, flip_grown_find),
    FLIP_BOTH(FLIP_GROWN, "erase where keys move", NULL, flip_grown_erase),
    FLIP_BOTH(FLIP_MAPS, "map insert", NULL, flip_map_insert),
    FLIP_BOTH(FLIP_MAPS, "map insert_new", NULL, flip_map_insert_new),
    FLIP_BOTH(FLIP_MAPS, "map find", NULL, flip_map_find),
    FLIP_BOTH(FLIP_MAPS, "map erase", NULL, flip_map_erase),
    FLIP_BOTH(FLIP_MAPS, "map add", NULL, flip_map_add),
    FLIP_BOTH(FLIP_MAPS, "map compare_swap", NULL, flip_map_swap),
    FLIP_BOTH(FLIP_MAPS, "map modify", NULL, flip_map_modify),
    FLIP_BOTH(FLIP_MAPS, "map modify, large", NULL, flip_map_modify_large),
    FLIP_BOTH(FLIP_MAPS, "map insert, large", NULL, flip_map_insert_large),
    FLIP_BOTH(FLIP_MAPS, "map find, large", NULL, flip_map_find_large),
    FLIP_BOTH(FLIP_MAPS, "map find_alloc", NULL, flip_map_find_alloc),
    FLIP_BOTH(FLIP_MAPS, "map erase, large", NULL, flip_map_erase_large),
    FLIP_BOTH(FLIP_MAPS, "map find_many", NULL, flip_map_find_many),
    FLIP_BOTH(FLIP_MAPS, "map insert_many", NULL, flip_map_insert_many),
    FLIP_BOTH(FLIP_MAPS, "map add_many", NULL, flip_map_add_many),
    FLIP_BOTH(FLIP_MAPS, "map find_start", flip_map_start_find, flip_map_wait_large),
    FLIP_BOTH(FLIP_MAPS, "map insert_start", flip_map_start_insert, flip_wait),
    FLIP_BOTH(FLIP_MAPS, "map insert_new_start", flip_map_start_insert_new, flip_wait),
    FLIP_BOTH(FLIP_MAPS, "map add_start", flip_map_start_add, flip_wait),
    {"map buffer of values", FLIP_MAPS, TERN_BY_CALL, flip_map_fill, flip_map_flush},
    {"map buffer of numbers", FLIP_MAPS, TERN_BY_CALL, flip_map_fill_add, flip_map_flush},
    FLIP_BOTH(FLIP_QUEUES, "try_push", NULL, flip_try_push),
    FLIP_BOTH(FLIP_QUEUES, "try_pop", NULL, flip_try_pop),
    FLIP_BOTH(FLIP_QUEUES, "push_timed", NULL, flip_push_timed),
    FLIP_BOTH(FLIP_QUEUES, "pop_timed", NULL, flip_pop_timed),
    FLIP_BOTH(FLIP_QUEUES, "push", NULL, flip_push),
    FLIP_BOTH(FLIP_QUEUES, "pop", NULL, flip_pop),
    FLIP_BOTH(FLIP_QUEUES, "push_many", NULL, flip_push_many),
    {"call_return", FLIP_CALLS, 0, NULL, flip_call_return},
    {"call_start", FLIP_CALLS, 0, flip_start_call, flip_wait_found},
    {"call_try", FLIP_CALLS, 0, flip_call_try, flip_call_flush},
    {"put", FLIP_CALLS, 0, NULL, flip_put},
    {"get", FLIP_CALLS, 0, NULL, flip_get},
    {"fetch_add", FLIP_CALLS, 0, NULL, flip_atomic},
    {"put_notify", FLIP_CALLS, 0, flip_notify, flip_flush},
    {"lock", FLIP_CALLS, 0, NULL, flip_lock},
};

enum { FLIP_OPERATIONS = sizeof flip_operations / sizeof flip_operations[0] };

#endif
