#ifndef TERN_HASHTABLE_OP_BEGIN_H
#define TERN_HASHTABLE_OP_BEGIN_H

/* The beginning of an op that a program asks for: whether its arguments are right, and which kind
 * of operation it is to the selector. */

#include "hashtable/op/op.h"

/* What the program gives besides the key: members of an op. */
typedef struct tern_op_arguments {
    tern_op_kind kind;
    const void *given;
    void *taken;
    uint64_t number, desired;
} tern_op_arguments;

/* name: of the function, for messages. */
tern_status tern_op_check(const tern_op_arguments *arguments, const tern_worker *worker,
                          const tern_hashtable *table, const void *key, tern_flags flags,
                          const char *name);

tern_path_kind tern_op_path(tern_op_kind kind, const tern_hashtable *table);

/* Initializes an op that has these arguments. key: stays until the op is done. */
static inline void tern_op_begin(tern_op *op, const tern_op_arguments *arguments,
                                 tern_worker *worker, const tern_hashtable *table,
                                 const tern_table_key *key, tern_flags flags) {
    tern_op_init(op, arguments->kind, worker, table, key->words, key->hash,
                 tern_flags_promise(flags));
    op->given = arguments->given;
    op->taken = arguments->taken;
    op->number = arguments->number;
    op->desired = arguments->desired;
}

#endif
