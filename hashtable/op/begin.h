#ifndef TERN_HASHTABLE_OP_BEGIN_H
#define TERN_HASHTABLE_OP_BEGIN_H

/* The beginning of an op that a program asks for: whether its arguments are right, and which kind
 * of operation it is to the selector. */

#include "hashtable/op/op.h"

/* kind, given, taken, number and desired are set. name: of the function, for messages. */
tern_status tern_op_check(const tern_op *op, const tern_worker *worker, const tern_hashtable *table,
                          const void *key, tern_flags flags, const char *name);

tern_path_kind tern_op_path(const tern_op *op, const tern_hashtable *table);

#endif
