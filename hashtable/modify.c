#include "tern/hashtable.h"

#include "base/process.h"
#include "hashtable/table/call.h"
#include "hashtable/bucket/scratch.h"
#include "hashtable/op/op.h"

/* A modifier runs at the owner with the bucket locked, in a hook that makes the value (op/op.h). */

typedef struct modify_hook {
    tern_op_hook hook; /* first */
    tern_hashtable *table;
    tern_hashtable_modify_function function;
    tern_hashtable_modify_info *info;
} modify_hook;

/* Runs the modifier, which may make progress. The count tells the handlers that run then
 * (arrays/liveness.c) that a modifier has a bucket, so that they do not mark that as damaged. */
static tern_status modify_see(tern_op_hook *hook, const uint64_t *value, uint64_t *next) {
    const modify_hook *h = (const modify_hook *)(const void *)hook;
    h->info->existed = value != NULL;
    /* R5: liveness_answer */
    atomic_fetch_add_explicit(&h->table->modifiers, 1, memory_order_relaxed);
    const tern_status status = h->function(h->info, next);
    atomic_fetch_sub_explicit(&h->table->modifiers, 1, memory_order_relaxed);
    return status;
}

/* Runs function in this process. info->key: the key's padded words. */
static tern_status modify_bucket(tern_hashtable *table, uint64_t hash, tern_absent absent,
                                 tern_hashtable_modify_function function,
                                 tern_hashtable_modify_info *info) {
    modify_hook hook = {{modify_see, true}, table, function, info};
    tern_op op;
    tern_op_init(&op, absent == TERN_ABSENT_INSERT ? TERN_OP_INSERT : TERN_OP_REPLACE, info->worker,
                 table, info->key, hash, TERN_READ_WRITE);
    op.hook = &hook.hook;
    return tern_op_run(&op);
}

/* A message: this, the key's padded words, the argument. */
typedef struct table_modify_head {
    tern_table_head head;
    uint64_t absent;
    uint64_t bytes; /* of the argument */
} table_modify_head;

/* A reply: whether the key was there, and the result. */

tern_status tern_internal_hashtable_run_modifier(tern_call_info *call, const void *message,
                                                 size_t bytes,
                                                 tern_hashtable_modify_function function) {
    table_modify_head head;
    tern_hashtable *table = tern_table_of_call(call->worker, message, bytes, sizeof head);
    if (table == NULL)
        return tern_callee_missing(call->worker->context, "hash table");
    tern_read_once(&head, message, sizeof head);
    const size_t key_bytes = 8 * (size_t)table->shape.key_words;
    const size_t argument_bytes = bytes - sizeof head - key_bytes;
    if (tern_shape_counts(table->shape) || bytes < sizeof head + key_bytes ||
        head.bytes != argument_bytes)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a message of %zu bytes is no modification of a key of %zu bytes", bytes,
                         key_bytes);
    const char *key = (const char *)message + sizeof head;
    uint64_t hash = tern_key_hash(table, key);
    if (tern_hash_owner(table, hash) != table->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "the key belongs to rank %u",
                         tern_hash_owner(table, hash));
    tern_hashtable_modify_info info = {.worker = call->worker,
                                       .origin = call->origin,
                                       .key = key,
                                       .argument = key + key_bytes,
                                       .argument_bytes = argument_bytes,
                                       .result = (char *)call->result + sizeof(uint64_t),
                                       .user = call->user};
    tern_status status = modify_bucket(
        table, hash, head.absent != 0 ? TERN_ABSENT_INSERT : TERN_ABSENT_FAIL, function, &info);
    if (status == TERN_OK && info.result_bytes > TERN_HASHTABLE_MODIFY_RESULT_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "a modifier's result has %zu bytes; at most %u are allowed",
                         info.result_bytes, TERN_HASHTABLE_MODIFY_RESULT_MAX);
    if (status == TERN_OK) {
        uint64_t existed = (uint64_t)info.existed;
        memcpy(call->result, &existed, sizeof existed);
        call->result_bytes = sizeof existed + info.result_bytes;
    }
    return status;
}

/* Runs the modifier in place. [out] reply, got: the same as by call. */
static tern_status modify_in_place(tern_worker *worker, tern_hashtable *table,
                                   const tern_table_key *key,
                                   const tern_hashtable_modifier *modifier,
                                   const tern_modify_options *o, uint64_t *reply, size_t *got) {
    tern_hashtable_modify_info info = {.worker = worker,
                                       .origin = tern_worker_self(worker),
                                       .key = key->words,
                                       .argument = o->argument,
                                       .argument_bytes = o->argument_bytes,
                                       .result = reply + 1,
                                       .user = modifier->call->user};
    tern_status status = modify_bucket(table, key->hash, o->absent, modifier->function, &info);
    if (status == TERN_OK && info.result_bytes > TERN_HASHTABLE_MODIFY_RESULT_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "a modifier's result has %zu bytes; at most %u are allowed",
                         info.result_bytes, TERN_HASHTABLE_MODIFY_RESULT_MAX);
    reply[0] = (uint64_t)info.existed;
    *got = sizeof *reply + info.result_bytes;
    return status;
}

static tern_status modify_by_call(tern_worker *worker, const tern_hashtable *table, uint32_t owner,
                                  const tern_table_key *key,
                                  const tern_hashtable_modifier *modifier,
                                  const tern_modify_options *o, uint64_t *reply, size_t *got) {
    const size_t bytes = o->argument_bytes, key_bytes = 8 * (size_t)table->shape.key_words;
    size_t size = sizeof(table_modify_head) + key_bytes + bytes,
           most = tern_call_room(table->context);
    if (bytes > most || size > most)
        return tern_fail(TERN_ERR_RANGE,
                         "key and argument have %zu bytes and a ring takes %zu at a time; raise "
                         "TERN_RING_SIZE (now %zu)",
                         size, most, table->context->config.ring_size);
    tern_scratch room;
    char *message = (char *)tern_scratch_take(&room, size);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    table_modify_head head = {tern_table_head_to(table), o->absent == TERN_ABSENT_INSERT, bytes};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, key->words, key_bytes);
    if (bytes > 0)
        memcpy(message + sizeof head + key_bytes, o->argument, bytes);
    const tern_worker_id application = {owner, table->part[owner].worker};
    tern_status status = tern_call_return(
        worker, modifier->any_thread != 0 ? tern_table_worker(table, owner) : application,
        modifier->call, message, size, reply, TERN_RESULT_MAX, got);
    tern_scratch_free(&room);
    return status;
}

static tern_status modify_check(const tern_worker *worker, const tern_hashtable *table,
                                const void *key, const tern_hashtable_modifier *modifier,
                                const tern_modify_options *o, tern_flags flags) {
    static const char name[] = "tern_hashtable_modify";
    tern_status status = tern_hashtable_check(worker, table, key, flags, TERN_READ_ONLY, name);
    if (status == TERN_OK)
        status = tern_modify_check(name, modifier != NULL, o);
    if (status != TERN_OK)
        return status;
    if (tern_shape_counts(table->shape))
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "%s: the table has counters; use tern_hashtable_compare_swap", name);
    return TERN_OK;
}

tern_status tern_hashtable_modify(tern_worker *worker, tern_hashtable *table, const void *key,
                                  const tern_hashtable_modifier *modifier,
                                  const tern_modify_options *options, tern_flags flags,
                                  int *existed) {
    const tern_modify_options o =
        options != NULL ? *options : (tern_modify_options){.argument = NULL};
    tern_status status = modify_check(worker, table, key, modifier, &o, flags);
    if (status != TERN_OK)
        return status;
    tern_table_key k;
    tern_key_load(table, key, &k);
    uint32_t owner = tern_hash_owner(table, k.hash);
    static const char name[] = "tern_hashtable_modify";
    tern_path_question question = tern_table_question(worker, table, owner, flags, name);
    tern_pick pick;
    question.kind = TERN_PATH_BY_OWNER;
    status = tern_hashtable_check_owner(table, owner, flags, name);
    if (status == TERN_OK)
        status = tern_choose(&question, &pick);
    if (status != TERN_OK)
        return status;
    uint64_t reply[TERN_RESULT_MAX / 8];
    size_t got = 0;
    status = pick.path != TERN_PATH_CALL
                 ? modify_in_place(worker, table, &k, modifier, &o, reply, &got)
                 : modify_by_call(worker, table, owner, &k, modifier, &o, reply, &got);
    if (status != TERN_OK)
        return tern_hashtable_outcome(table, owner, status);
    if (got < sizeof reply[0])
        return tern_fail(TERN_ERR_SYSTEM,
                         "rank %u has answered a modification with %zu bytes; an answer has %zu or "
                         "more; look for what writes into that rank's memory",
                         owner, got, sizeof reply[0]);
    status = tern_modify_result(&o, reply + 1, got - sizeof reply[0]);
    if (status == TERN_OK && existed != NULL)
        *existed = reply[0] != 0;
    return status;
}
