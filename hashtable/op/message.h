#ifndef TERN_HASHTABLE_OP_MESSAGE_H
#define TERN_HASHTABLE_OP_MESSAGE_H

/*
 * Messages of operations on keys of a table. A message holds items of one kind: one for a single
 * operation, many for a batch. Layout, in words of 8 bytes:
 *
 *     nonce
 *     kind 1 byte, form 1, count 2, number 4
 *     [numbers of all items: of adds what each key adds; of swaps what is expected, and desired]
 *     count items: the key, padded
 *                  [of an insert: the value, padded]
 *                  [NUMBERED: what the item adds, and then there are no numbers of all]
 *                  [COUNTED: how many keys the item is for (hashtable/batch/combine.h)]
 *
 * The owner does the items in their order (hashtable/batch/serve.c). To a message of form ALONE it
 * replies with the result of the op, and the outcome of the op is the status of the call. To others
 * it replies with a tern_bundle_reply, and what follows that.
 */

#include "hashtable/op/op.h"
#include "hashtable/table/call.h"

/* Bits of the form of a message. */
enum {
    TERN_BUNDLE_ALONE = 1, /* one item whose outcome and result are those of the call */
    TERN_BUNDLE_NUMBERED = 2,
    TERN_BUNDLE_COUNTED = 4,
    TERN_BUNDLE_FORMS = 8
};

/* Items and bytes of a message, at most; a larger item has a message of its own. */
enum { TERN_BUNDLE_ITEMS = 512, TERN_BUNDLE_BYTES = 16384 };

/* What a message of items starts with. */
typedef struct tern_bundle_head {
    tern_table_head head;
    uint8_t kind;    /* of tern_op_kind */
    uint8_t form;    /* of the above */
    uint16_t count;  /* of items */
    uint32_t number; /* of this sending, counted in the sender's process */
} tern_bundle_head;

/* The start of the reply to items that are not alone. */
typedef struct tern_bundle_reply {
    uint32_t done;   /* items gone through: all, unless they are finds or status is an error */
    uint32_t stored; /* keys of these that were stored, counted or found */
    uint16_t status; /* an error: it ended the items here, and its text follows */
    uint16_t late;   /* 1: what was found comes in a call of its own, a tern_found_late */
    /* Of finds, unless late: a byte for each item, 1: found; and the values found, one behind the
     * other. */
    char rest[TERN_RESULT_MAX - 12];
} tern_bundle_reply;

enum { TERN_BUNDLE_REPLY = 12 };
_Static_assert(offsetof(tern_bundle_reply, rest) == TERN_BUNDLE_REPLY, "no more than it says");

/* A call by which the owner sends what it found, before a reply that has too little room. */
typedef struct tern_found_late {
    uint32_t number; /* of the sending */
    uint32_t done;
    unsigned char found[TERN_BUNDLE_ITEMS];
    unsigned char values[]; /* one behind the other */
} tern_found_late;

/* Whether an op of this kind sends a value. */
static inline bool tern_op_inserts(uint64_t kind) {
    return kind == TERN_OP_INSERT || kind == TERN_OP_INSERT_NEW;
}

/* How many numbers for all items a message has. */
static inline size_t tern_bundle_numbers(uint64_t kind, uint64_t form) {
    return kind == TERN_OP_COMPARE_SWAP ? 2 : kind == TERN_OP_ADD && !(form & TERN_BUNDLE_NUMBERED);
}

/* Words of an item. */
static inline size_t tern_item_words(const tern_hashtable *table, uint64_t kind, uint64_t form) {
    return table->shape.key_words + (tern_op_inserts(kind) ? table->shape.value_words : 0) +
           ((form & TERN_BUNDLE_NUMBERED) != 0) + ((form & TERN_BUNDLE_COUNTED) != 0);
}

static inline size_t tern_bundle_bytes(const tern_hashtable *table, uint64_t kind, uint64_t form,
                                       size_t count) {
    return sizeof(tern_bundle_head) +
           8 * (tern_bundle_numbers(kind, form) + count * tern_item_words(table, kind, form));
}

/* Bytes of an op's result. */
static inline size_t tern_op_result_bytes(const tern_hashtable *table, uint64_t kind) {
    return kind == TERN_OP_FIND && !tern_shape_counts(table->shape) ? table->value_bytes : 8;
}

static inline tern_path_kind tern_op_path(tern_op_kind kind, const tern_hashtable *table) {
    return kind == TERN_OP_FIND              ? TERN_PATH_FIND
           : tern_shape_counts(table->shape) ? TERN_PATH_ADD
                                             : TERN_PATH_INSERT;
}

/* The question that an op on a key of that owner asks the chooser of its path. */
static inline tern_path_question tern_op_question(tern_worker *worker, const tern_hashtable *table,
                                                  tern_op_kind kind, uint32_t owner,
                                                  tern_flags flags, const char *name) {
    tern_path_question q = tern_table_question(worker, table, owner, flags, name);
    q.kind = tern_op_path(kind, table);
    q.message = tern_bundle_bytes(table, kind, TERN_BUNDLE_ALONE, 1);
    q.result = tern_op_result_bytes(table, kind);
    return q;
}

#endif
