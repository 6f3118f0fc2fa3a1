#ifndef TERN_HASHTABLE_CALL_H
#define TERN_HASHTABLE_CALL_H

/*
 * Operations by call: what the origin sends and how the owner finds its table. Every message starts
 * with a head; keys and values follow as padded words.
 */

#include "hashtable/table.h"
#include "tern/call.h"

typedef struct tern_table_head {
    uint64_t nonce; /* of the table */
} tern_table_head;

static inline tern_table_head tern_table_head_to(const tern_hashtable *table) {
    return (tern_table_head){table->nonce};
}

static inline tern_worker_id tern_table_worker(const tern_hashtable *table, uint32_t owner) {
    return tern_container_worker(table->context, owner, table->part[owner].worker);
}

/* The largest arguments that a ring takes of a call with a result, whose address goes before them.
 */
static inline size_t tern_call_room(const tern_context *context) {
    size_t room = context->config.ring_size / 2 - 64 - 16;
    return room < TERN_ARGUMENTS_MAX ? room : TERN_ARGUMENTS_MAX;
}

/* In a handler: the table that a message of bytes is for, at least least of them. NULL: there is
 * none (any more), or the message is too short. */
tern_hashtable *tern_table_of_call(const tern_worker *worker, const void *message, size_t bytes,
                                   size_t least);

/* TERN_ERR_UNSUPPORTED where a key and a value do not fit a message, or a value a result. */
tern_status tern_call_check_insert(const tern_hashtable *table);
tern_status tern_call_check_find(const tern_hashtable *table);

/* Has the owner do an op with all its arguments. request: NULL, and the outcome is waited for; else
 * it returns with the call under way, whose result is the op's. */
struct tern_op;
tern_status tern_op_call(struct tern_op *op, tern_request *request);

#endif
