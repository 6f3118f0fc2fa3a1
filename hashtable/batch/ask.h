#ifndef TERN_HASHTABLE_BATCH_ASK_H
#define TERN_HASHTABLE_BATCH_ASK_H

/* The origin's side of operations by call: one op, a batch of items, or a buffer, which is a batch
 * that stays open. What the owner does with their message is in serve.c. */

#include "hashtable/batch/run.h"
#include "hashtable/batch/scatter.h"

/* Has the owner do an op that has all its arguments. If request is NULL, waits for the outcome;
 * else returns with the call under way. The call's result is the op's. */
tern_status tern_op_call(tern_op *op, tern_request *request);

/* Items of one kind that go to their owners in bundles. */
typedef struct tern_item_batch {
    tern_scatter scatter;
    uint64_t stored;  /* keys that are known to be stored, counted or found */
    uint64_t refused; /* keys that found no room */
    char *values;     /* of finds, where their values and flags go, as of tern_outcomes */
    unsigned char *found;
} tern_item_batch;

/* The question to the chooser about a batch of items of that kind and form for that owner. */
tern_path_question tern_items_question(tern_worker *worker, const tern_hashtable *table,
                                       uint8_t kind, uint8_t form, uint32_t owner, tern_flags flags,
                                       const char *name);

/* Whether a ring takes a bundle of one item. */
bool tern_item_batch_fits(const tern_hashtable *table, uint8_t kind, uint8_t form);

/* number: the numbers of all items, if the kind has any. Other arguments as of tern_scatter_begin.
 * The caller has asked tern_choice_of whether a ring takes a bundle of one item, and its answer. */
tern_status tern_item_batch_begin(tern_item_batch *batch, tern_worker *worker,
                                  tern_hashtable *table, uint8_t kind, uint8_t form,
                                  const uint64_t *number, size_t expected, uint32_t limit);

/* Gathers an item; the caller then calls tern_scatter_written. value: of an insert its value, of a
 * numbered add what it adds; number: of a find its place in the batch, else the keys that it is
 * for. [out] owner. TERN_ERR_MEMORY: it is not taken. */
tern_status tern_item_batch_gather(tern_item_batch *batch, const void *key, const void *value,
                                   size_t number, uint32_t *owner);

/* Gathers items, equal keys combined where that pays, sends them, and waits. flags: the program's.
 * Arguments as of tern_items_run; [out] of out: stored alone. */
tern_status tern_items_ask(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                           tern_flags flags, tern_outcomes *out);

#endif
