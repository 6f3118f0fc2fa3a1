#ifndef TERN_HASHTABLE_OP_BEGIN_H
#define TERN_HASHTABLE_OP_BEGIN_H

/* The beginning of an op that a program asks for: checks the arguments, and chooses the path. */

#include "hashtable/op/message.h"
#include "hashtable/op/op.h"

/* What a program asks for, as it is given to a public function. */
typedef struct tern_asked {
    tern_op_kind kind;
    tern_worker *worker;
    tern_hashtable *table;
    const void *key;
    tern_flags flags;
    const char *name;  /* of the function, for messages */
    const void *given; /* the rest as in an op */
    void *taken;
    uint64_t number, desired;
    int *existed;     /* [out], or NULL: of an insert */
    uint64_t *before; /* [out], or NULL: of a counter */
} tern_asked;

/* Checks the arguments and chooses the op's path. may_measure: as in a question. [out] key, pick.
 */
tern_status tern_asked_choose(const tern_asked *asked, bool may_measure, tern_table_key *key,
                              tern_pick *pick);

/* Initializes the op that was asked for. key: its key, which must stay until the op is done. */
static inline void tern_asked_begin(const tern_asked *asked, const tern_table_key *key,
                                    tern_op *op) {
    tern_op_init(op, asked->kind, asked->worker, asked->table, key->words, key->hash,
                 tern_flags_promise(asked->flags));
    op->given = asked->given;
    op->taken = asked->taken;
    op->number = asked->number;
    op->desired = asked->desired;
}

#endif
