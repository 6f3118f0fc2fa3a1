#include "hashtable/call.h"

#include "base/process.h"
#include "hashtable/operations.h"
#include "hashtable/near/probe.h"
#include "hashtable/near/scratch.h"
#include "tern/transfer.h"

tern_hashtable *tern_table_of_call(const tern_worker *worker, const void *message, size_t bytes,
                                   size_t least) {
    tern_table_head head;
    if (bytes < least || bytes < sizeof head)
        return NULL;
    tern_read_once(&head, message, sizeof head);
    return tern_callee_find(worker->context, TERN_CALLEE_TABLE, head.nonce);
}

/* The table and the key of a message with extra bytes between head and key, and behind it the value
 * if has_value. Checks the exact length and that the key belongs here. */
static tern_status table_call_read_message(tern_call_info *call, const void *message, size_t bytes,
                                           size_t extra, bool has_value, tern_hashtable **table,
                                           const uint64_t **key, uint64_t *hash) {
    size_t at = sizeof(tern_table_head) + extra;
    tern_hashtable *t = tern_table_of_call(call->worker, message, bytes, at);
    if (t == NULL)
        return tern_callee_missing(call->worker->context, "hash table");
    size_t words = t->shape.key_words + (has_value ? t->shape.value_words : 0);
    if (bytes != at + 8 * words)
        return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes where %zu are due", bytes,
                         at + 8 * words);
    const uint64_t *k = (const uint64_t *)(const void *)((const char *)message + at);
    uint64_t h = tern_key_hash(t, k);
    if (tern_hash_owner(t, h) != t->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "the key belongs to rank %u", tern_hash_owner(t, h));
    *table = t;
    *key = k;
    *hash = h;
    return TERN_OK;
}

static void table_call_reply(tern_call_info *call, const void *result, size_t bytes) {
    memcpy(call->result, result, bytes);
    call->result_bytes = bytes;
}

/* The owner reads and writes its own part: nothing of it waits for another rank, and what would is
 * TERN_ERR_AGAIN. Its entries need no flush. */

static tern_status insert_here(tern_call_info *call, const void *message, size_t bytes,
                               bool only_new) {
    tern_hashtable *table;
    const uint64_t *key;
    uint64_t hash;
    tern_status status =
        table_call_read_message(call, message, bytes, 0, true, &table, &key, &hash);
    if (status != TERN_OK)
        return status;
    bool there = false;
    status = tern_operation_insert(call->worker, table, key, hash, key + table->shape.key_words,
                                   only_new, TERN_WRITE_ONLY, &there);
    tern_entries_take_effect();
    uint64_t existed = there;
    if (status == TERN_OK)
        table_call_reply(call, &existed, sizeof existed);
    return status;
}

static tern_status tern_hashtable_on_insert(tern_call_info *call, const void *message,
                                            size_t bytes) {
    return insert_here(call, message, bytes, false);
}
TERN_FUNCTION(tern_hashtable_on_insert)

static tern_status tern_hashtable_on_insert_new(tern_call_info *call, const void *message,
                                                size_t bytes) {
    return insert_here(call, message, bytes, true);
}
TERN_FUNCTION(tern_hashtable_on_insert_new)

static tern_status tern_hashtable_on_erase(tern_call_info *call, const void *message,
                                           size_t bytes) {
    tern_hashtable *table;
    const uint64_t *key;
    uint64_t hash;
    tern_status status =
        table_call_read_message(call, message, bytes, 0, false, &table, &key, &hash);
    return status == TERN_OK ? tern_operation_erase(call->worker, table, key, hash) : status;
}
TERN_FUNCTION(tern_hashtable_on_erase)

static tern_status tern_hashtable_on_add(tern_call_info *call, const void *message, size_t bytes) {
    tern_hashtable *table;
    const uint64_t *key;
    uint64_t hash, delta, before;
    tern_status status =
        table_call_read_message(call, message, bytes, 8, false, &table, &key, &hash);
    if (status != TERN_OK)
        return status;
    memcpy(&delta, (const char *)message + sizeof(tern_table_head), sizeof delta);
    status = tern_operation_add(call->worker, table, key, hash, delta, TERN_WRITE_ONLY, &before);
    tern_entries_take_effect();
    if (status == TERN_OK)
        table_call_reply(call, &before, sizeof before);
    return status;
}
TERN_FUNCTION(tern_hashtable_on_add)

static tern_status tern_hashtable_on_compare_swap(tern_call_info *call, const void *message,
                                                  size_t bytes) {
    tern_hashtable *table;
    const uint64_t *key;
    uint64_t hash, numbers[2], before;
    tern_status status =
        table_call_read_message(call, message, bytes, sizeof numbers, false, &table, &key, &hash);
    if (status != TERN_OK)
        return status;
    memcpy(numbers, (const char *)message + sizeof(tern_table_head), sizeof numbers);
    status = tern_operation_compare_swap(call->worker, table, key, hash, numbers[0], numbers[1],
                                         &before);
    if (status == TERN_OK)
        table_call_reply(call, &before, sizeof before);
    return status;
}
TERN_FUNCTION(tern_hashtable_on_compare_swap)

static tern_status tern_hashtable_on_find(tern_call_info *call, const void *message, size_t bytes) {
    tern_hashtable *table;
    const uint64_t *key;
    uint64_t hash;
    tern_status status =
        table_call_read_message(call, message, bytes, 0, false, &table, &key, &hash);
    if (status != TERN_OK)
        return status;
    status = tern_operation_find(call->worker, table, key, hash, TERN_READ_WRITE, call->result);
    if (status == TERN_OK)
        call->result_bytes = tern_shape_counts(table->shape) ? 8 : table->value_bytes;
    return status;
}
TERN_FUNCTION(tern_hashtable_on_find)

static size_t insert_bytes(const tern_hashtable *table) {
    return sizeof(tern_table_head) + 8 * (tern_entry_words(table->shape) - 1);
}

tern_status tern_call_check_insert(const tern_hashtable *table) {
    size_t bytes = insert_bytes(table), room = tern_call_room(table->context);
    if (__builtin_expect(bytes <= room, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "an insert by call takes %zu bytes and a ring takes %zu at a time; raise "
                     "TERN_RING_SIZE (now %zu) or pass TERN_BY_RMA",
                     bytes, room, table->context->config.ring_size);
}

tern_status tern_call_check_find(const tern_hashtable *table) {
    if (__builtin_expect(table->value_bytes <= TERN_RESULT_MAX, 1))
        return TERN_OK;
    return tern_fail(TERN_ERR_UNSUPPORTED,
                     "a call returns at most %u bytes and values have %zu; pass TERN_BY_RMA",
                     TERN_RESULT_MAX, table->value_bytes);
}

/* Where a call leaves its result: when it returns, or when its request is complete. */
typedef struct result_place {
    void *result;
    size_t capacity;
    tern_request *request; /* NULL: the former */
} result_place;

/* A word, which is the request's own result. */
static result_place result_in(tern_request *request) {
    return (result_place){&request->result, sizeof request->result, request};
}

static tern_status make_call(tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *message, size_t bytes,
                             result_place to) {
    size_t got;
    return to.request != NULL ? tern_call_start(worker, target, function, message, bytes, to.result,
                                                to.capacity, to.request)
                              : tern_call_return(worker, target, function, message, bytes,
                                                 to.result, to.capacity, &got);
}

static tern_status call_insert(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                               const tern_table_key *key, const void *value, bool only_new,
                               result_place to) {
    tern_shape s = table->shape;
    size_t bytes = insert_bytes(table);
    tern_scratch room;
    uint64_t *message = tern_scratch_take(&room, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    tern_table_head head = tern_table_head_to(table);
    memcpy(message, &head, sizeof head);
    uint64_t *words = message + sizeof head / 8;
    memcpy(words, key->words, 8 * s.key_words);
    tern_words_fill(words + s.key_words, s.value_words, value, table->value_bytes);
    tern_status status = make_call(worker, tern_table_worker(table, owner),
                                   only_new ? &tern_hashtable_on_insert_new_function
                                            : &tern_hashtable_on_insert_function,
                                   message, bytes, to);
    tern_scratch_free(&room);
    return status;
}

tern_status tern_call_insert(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                             const tern_table_key *key, const void *value, bool only_new,
                             bool *existed) {
    uint64_t there = 0;
    tern_status status = call_insert(worker, table, owner, key, value, only_new,
                                     (result_place){&there, sizeof there, NULL});
    *existed = there != 0;
    return status;
}

tern_status tern_call_insert_start(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                                   const tern_table_key *key, const void *value, bool only_new,
                                   tern_request *request) {
    return call_insert(worker, table, owner, key, value, only_new, result_in(request));
}

/* Calls function with up to two numbers and a key. */
static tern_status call_on_key(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                               const tern_function *function, const uint64_t *numbers, size_t count,
                               const tern_table_key *key, result_place to) {
    struct {
        tern_table_head head;
        uint64_t words[2 + TERN_KEY_MAX / 8];
    } message;
    size_t bytes = 8 * (size_t)table->shape.key_words;
    message.head = tern_table_head_to(table);
    for (size_t i = 0; i < count; i++)
        message.words[i] = numbers[i];
    memcpy(message.words + count, key->words, bytes);
    return make_call(worker, tern_table_worker(table, owner), function, &message,
                     offsetof(__typeof__(message), words) + 8 * count + bytes, to);
}

tern_status tern_call_erase(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                            const tern_table_key *key) {
    return call_on_key(worker, table, owner, &tern_hashtable_on_erase_function, NULL, 0, key,
                       (result_place){0});
}

tern_status tern_call_add(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                          const tern_table_key *key, uint64_t delta, uint64_t *before) {
    return call_on_key(worker, table, owner, &tern_hashtable_on_add_function, &delta, 1, key,
                       (result_place){before, sizeof *before, NULL});
}

tern_status tern_call_add_start(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                                const tern_table_key *key, uint64_t delta, tern_request *request) {
    return call_on_key(worker, table, owner, &tern_hashtable_on_add_function, &delta, 1, key,
                       result_in(request));
}

tern_status tern_call_compare_swap(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                                   const tern_table_key *key, uint64_t expected, uint64_t desired,
                                   uint64_t *before) {
    const uint64_t numbers[] = {expected, desired};
    return call_on_key(worker, table, owner, &tern_hashtable_on_compare_swap_function, numbers, 2,
                       key, (result_place){before, sizeof *before, NULL});
}

static size_t found_capacity(const tern_hashtable *table) {
    return tern_shape_counts(table->shape) ? 8 : table->value_bytes;
}

tern_status tern_call_find(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                           const tern_table_key *key, void *value) {
    return call_on_key(worker, table, owner, &tern_hashtable_on_find_function, NULL, 0, key,
                       (result_place){value, found_capacity(table), NULL});
}

tern_status tern_call_find_start(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                                 const tern_table_key *key, void *value, tern_request *request) {
    return call_on_key(worker, table, owner, &tern_hashtable_on_find_function, NULL, 0, key,
                       (result_place){value, found_capacity(table), request});
}
