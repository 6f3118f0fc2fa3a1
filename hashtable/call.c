#include "hashtable/call.h"

#include "base/process.h"
#include "hashtable/op/op.h"
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

/* A message: this, the numbers of the op's kind, the key, the value of an insert. */
typedef struct op_head {
    tern_table_head head;
    uint64_t kind;
} op_head;

static size_t op_numbers(uint64_t kind) {
    return kind == TERN_OP_COMPARE_SWAP ? 2 : kind == TERN_OP_ADD;
}

static bool op_inserts(uint64_t kind) {
    return kind == TERN_OP_INSERT || kind == TERN_OP_INSERT_NEW;
}

/* Whether such an op comes by call to a table like this one. */
static bool op_is_for(uint64_t kind, const tern_hashtable *table) {
    const bool counts = tern_shape_counts(table->shape);
    return op_numbers(kind) > 0 ? counts
           : op_inserts(kind)   ? !counts
                                : kind == TERN_OP_FIND || kind == TERN_OP_ERASE;
}

static size_t op_bytes(uint64_t kind, const tern_hashtable *table) {
    return sizeof(op_head) + 8 * (op_numbers(kind) + table->shape.key_words +
                                  (op_inserts(kind) ? table->shape.value_words : 0));
}

static size_t op_result_bytes(uint64_t kind, const tern_hashtable *table) {
    return kind == TERN_OP_FIND && !tern_shape_counts(table->shape) ? table->value_bytes : 8;
}

/* [out] op: what the message asks for. */
static tern_status op_read(tern_call_info *call, const void *message, size_t bytes, tern_op *op) {
    op_head head;
    tern_hashtable *table = tern_table_of_call(call->worker, message, bytes, sizeof head);
    if (table == NULL)
        return tern_callee_missing(call->worker->context, "hash table");
    tern_read_once(&head, message, sizeof head);
    if (!op_is_for(head.kind, table) || bytes != op_bytes(head.kind, table) ||
        op_result_bytes(head.kind, table) > TERN_RESULT_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "a message of %zu bytes is no operation on the table",
                         bytes);
    const uint64_t *numbers = (const uint64_t *)((const op_head *)message + 1);
    const uint64_t *key = numbers + op_numbers(head.kind);
    const uint64_t hash = tern_key_hash(table, key);
    if (tern_hash_owner(table, hash) != table->rank)
        return tern_fail(TERN_ERR_ARGUMENT, "the key belongs to rank %u",
                         tern_hash_owner(table, hash));
    const bool finds = head.kind == TERN_OP_FIND;
    tern_op_init(op, (tern_op_kind)head.kind, call->worker, table, key, hash,
                 finds ? TERN_READ_WRITE : TERN_WRITE_ONLY);
    if (op_numbers(head.kind) > 0)
        op->number = numbers[0];
    if (op_numbers(head.kind) > 1)
        op->desired = numbers[1];
    op->given = key + table->shape.key_words;
    op->taken = call->result;
    return TERN_OK;
}

/* The owner reads and writes its own part: nothing of it waits for another rank, and what would is
 * TERN_ERR_AGAIN. Its entries need no flush. */
static tern_status tern_hashtable_on_op(tern_call_info *call, const void *message, size_t bytes) {
    tern_op op;
    tern_status status = op_read(call, message, bytes, &op);
    if (status != TERN_OK)
        return status;
    status = tern_op_run(&op);
    if (op.kind != TERN_OP_FIND) {
        tern_entries_take_effect();
        memcpy(call->result, &op.result, sizeof op.result);
    }
    if (status == TERN_OK)
        call->result_bytes = op_result_bytes(op.kind, op.probe.table);
    return status;
}
TERN_FUNCTION(tern_hashtable_on_op)

tern_status tern_call_check_insert(const tern_hashtable *table) {
    size_t bytes = op_bytes(TERN_OP_INSERT, table), room = tern_call_room(table->context);
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

tern_status tern_op_call(tern_op *op, tern_request *request) {
    const tern_hashtable *table = op->probe.table;
    const tern_shape s = table->shape;
    const size_t bytes = op_bytes(op->kind, table), result = op_result_bytes(op->kind, table);
    const tern_worker_id to = tern_table_worker(table, tern_hash_owner(table, op->probe.hash));
    tern_scratch scratch;
    uint64_t *message = tern_scratch_take(&scratch, bytes);
    if (message == NULL)
        return TERN_ERR_MEMORY;
    const op_head head = {tern_table_head_to(table), op->kind};
    memcpy(message, &head, sizeof head);
    uint64_t *words = message + sizeof head / 8;
    const uint64_t numbers[] = {op->number, op->desired};
    memcpy(words, numbers, 8 * op_numbers(op->kind));
    words += op_numbers(op->kind);
    memcpy(words, op->probe.key, 8 * (size_t)s.key_words);
    if (op_inserts(op->kind))
        tern_words_fill(words + s.key_words, s.value_words, op->given, table->value_bytes);
    void *there = op->kind == TERN_OP_FIND ? op->taken
                  : request != NULL        ? &request->result
                                           : &op->result;
    size_t got;
    op->result = 0;
    const tern_status status =
        request != NULL ? tern_call_start(op->probe.worker, to, &tern_hashtable_on_op_function,
                                          message, bytes, there, result, request)
                        : tern_call_return(op->probe.worker, to, &tern_hashtable_on_op_function,
                                           message, bytes, there, result, &got);
    tern_scratch_free(&scratch);
    return status;
}
