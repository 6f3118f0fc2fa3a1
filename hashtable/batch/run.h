#ifndef TERN_HASHTABLE_BATCH_RUN_H
#define TERN_HASHTABLE_BATCH_RUN_H

/*
 * A run works on keys one after the other, by load/store where that reaches them. It prefetches the
 * cache lines of the keys ahead, which hides most of what a miss costs. An origin or, in a
 * handler, an owner runs items. In a handler a key that would have to wait ends the run with
 * TERN_ERR_AGAIN.
 */

#include "hashtable/op/message.h"

/* Many operations of one kind. */
typedef struct tern_items {
    uint8_t kind;       /* of tern_op_kind */
    tern_flags promise; /* of finds */
    size_t count;
    const char *keys;   /* of their own size or padded, the second key_step bytes after the first */
    const char *values; /* of inserts; of adds what each adds, or NULL: number. value_step apart */
    const char *counts; /* of the keys that an item is for, value_step apart; NULL: one each */
    size_t key_step, value_step;
    uint64_t number, desired; /* as in an op, for each key */
    uint32_t owner;           /* of all keys; TERN_NOBODY: owners may differ. If it is this rank, a
                                 key of another one is TERN_ERR_ARGUMENT */
} tern_items;

/* The outcomes of items, and where finds write values and flags. */
typedef struct tern_outcomes {
    char *values;         /* of finds */
    unsigned char *found; /* 1 or 0 for each; NULL: not wanted */
    const size_t *place;  /* of each item in these; NULL: its number */
    bool packed;          /* values lie one behind the other, whatever their place */
    size_t done;   /* [out] items gone through: all if TERN_OK, else those before the one that
                      failed */
    size_t stored; /* [out] keys of these that were stored, counted or found */
} tern_outcomes;

/* Bytes of what a find returns. */
static inline size_t tern_found_bytes(const tern_hashtable *table) {
    return tern_shape_counts(table->shape) ? sizeof(uint64_t) : table->value_bytes;
}

/* Returns the items of a message to this rank. words: behind the head. */
tern_items tern_items_of(const tern_hashtable *table, const tern_bundle_head *head,
                         const uint64_t *words);

/* Keys that an item is for. */
uint64_t tern_items_keys(const tern_items *items, size_t number);
/* Sets the kind of an item's op, and what it is given. */
struct tern_op;
void tern_items_op(const tern_items *items, size_t number, struct tern_op *op);
/* Where the value of a find goes. */
char *tern_outcome_value(const tern_outcomes *out, const tern_hashtable *table, size_t number);
/* Notes the outcome of an item. Returns whether it is no error: a batch goes on behind keys that
 * are absent or find no room. */
bool tern_outcome_note(tern_outcomes *out, const tern_items *items, size_t number,
                       tern_status outcome);

/* Does items one after the other. Flushes nothing. */
tern_status tern_items_run(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                           tern_outcomes *out);

/* batch.c: the same without calls, in the cheapest form: adds in groups, one after the other, or in
 * a pipeline. An owner does so in a handler, and an origin if the items go by RMA. */
tern_status tern_items_without_calls(tern_worker *worker, tern_hashtable *table,
                                     const tern_items *items, tern_outcomes *out);

/* many.c: the same by the path that it chooses. TERN_ERR_FULL: some keys found no room. name: of
 * the public function. [out] done (may be NULL): out->stored; finds set it on TERN_OK alone. */
tern_status tern_items_do(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                          tern_flags flags, const char *name, tern_outcomes *out, size_t *done);

/*
 * pipeline.c: the same where some parts are remote. Several keys are under way at once, each of
 * which takes round trips.
 */
tern_status tern_items_pipeline(tern_worker *worker, tern_hashtable *table, const tern_items *items,
                                tern_outcomes *out);

/* serve.c: the owner does what a message asks for. */
tern_status tern_hashtable_on_ops(tern_call_info *call, const void *message, size_t bytes);
/* ask.c: the origin takes a tern_found_late. */
tern_status tern_hashtable_on_values(tern_call_info *call, const void *message, size_t bytes);

#endif
