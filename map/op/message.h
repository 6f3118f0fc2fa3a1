#ifndef TERN_MAP_OP_MESSAGE_H
#define TERN_MAP_OP_MESSAGE_H

/*
 * Ops by call. A message is a head and items (item.h). A call is one item, a batch or a buffer
 * many.
 *
 *     nonce of the table
 *     kind 1 byte, form 1, count 2, number 4     (tern_bundle_head)
 *     count items
 *
 * The form says whether an item is alone. Then the kind of the head is the item's, the status of
 * the call is its outcome, and the reply is a tern_map_find_reply or a tern_map_change_reply. In a
 * message of many, the kind of the head says whether the items are finds (TERN_OP_FIND) or changes
 * (TERN_OP_INSERT), which are inserts and adds. The reply is a tern_map_answer.
 *
 * The owner makes the block for a key and value that come in a message, so that later handlers
 * reach it by load and store. A key and value too large for a ring stay in a block of the caller's
 * segment, and the message carries the descriptor in their place. A handler must not get a block
 * from another node or give a block back to another rank. It answers with the descriptor or the
 * block, and the caller does these things.
 */

#include "map/op/item.h"
#include "map/op/op.h"

/* The answer to a change that is alone. The result of a MODIFY, or the number before, follows. */
typedef struct tern_map_change_reply {
    uint64_t outcome;
    tern_ptr old; /* the block that the caller has to give back */
} tern_map_change_reply;

enum {
    TERN_MAP_WAS_NEW,
    TERN_MAP_EXISTED,
    /* Of a modification: nothing was done, because the block is remote for the owner. */
    TERN_MAP_IS_REMOTE
};

_Static_assert(sizeof(tern_map_change_reply) + TERN_MAP_MODIFY_RESULT_MAX == TERN_RESULT_MAX,
               "a modifier's result fits an answer");

/* The answer to a find that is alone. If has_value is set, the value follows the descriptor. */
typedef struct tern_map_find_reply {
    uint64_t has_value;
    uint64_t descriptor[TERN_RESULT_MAX / 8 - 1];
} tern_map_find_reply;

_Static_assert(sizeof(tern_map_find_reply) <= TERN_RESULT_MAX, "a reply is a result");
_Static_assert(8 * TERN_MAP_WORDS_MAX <= sizeof((tern_map_find_reply *)0)->descriptor,
               "a descriptor fits a reply");

/* The outcome of an item among others, and the words that follow for it in the answer. */
typedef enum tern_map_outcome {
    TERN_MAP_STORED,   /* or counted */
    TERN_MAP_REPLACED, /* the same; the block that the caller has to give back */
    TERN_MAP_REFUSED,  /* there is no room for the key */
    TERN_MAP_ABSENT,
    TERN_MAP_FOUND, /* the size of the value in bytes, a word; the value, in whole words */
    TERN_MAP_LARGE, /* the caller has too little room; the size, a word */
    TERN_MAP_LEFT,  /* to the caller: a find or an add whose block the owner does not reach, or a
                       value that no answer takes */
    TERN_MAP_FAILED
} tern_map_outcome;

/* The answer to a message of many items: this head, an outcome for each item, padded to words; for
 * each item in their order the words that belong to its outcome; and the text of the error. */
typedef struct tern_map_answer {
    uint32_t done;   /* items gone through: of changes all, of finds maybe fewer */
    uint32_t status; /* of the first item that failed */
} tern_map_answer;

enum {
    TERN_MAP_ANSWER_WORDS = TERN_BUNDLE_BYTES / 8, /* that follow the outcomes, at most */
    TERN_MAP_ANSWER_TEXT = 240
};

/* Bytes of an answer without the text. */
static inline size_t tern_map_answer_bytes(size_t count, size_t words) {
    return sizeof(tern_map_answer) + 8 * (tern_map_words(count) + words);
}
#define TERN_MAP_ANSWER_MAX                                                                        \
    (sizeof(tern_map_answer) + TERN_BUNDLE_ITEMS + TERN_BUNDLE_BYTES + TERN_MAP_ANSWER_TEXT)

/* How many words belong to the outcome of an item. at: where they begin. */
static inline size_t tern_map_answer_words(unsigned char outcome, const uint64_t *at) {
    return outcome == TERN_MAP_REPLACED ? sizeof(tern_ptr) / 8
           : outcome == TERN_MAP_FOUND  ? 1 + tern_map_words(at[0])
                                        : (size_t)(outcome == TERN_MAP_LARGE);
}

/* The outcome of an op among others. room: of the caller, for a find. */
tern_map_outcome tern_map_outcome_of(const tern_map_op *m, size_t room, tern_status status);

/* ---- The owner's side (serve.c) ---- */

/* In a handler: returns the map that a message is for; NULL if this rank has no such map, or the
 * message has fewer than least bytes. */
tern_map *tern_map_of_call(const tern_worker *worker, const void *message, size_t bytes,
                           size_t least);

/* Does the ops of a message. */
tern_status tern_map_on_op(tern_call_info *call, const void *message, size_t bytes);
extern const tern_function *const tern_map_ops; /* tern_map_on_op, for calls */

/* ---- The caller's side ---- */

/* How many words the item of an op has if it is not bare. */
size_t tern_map_message_item_words(const tern_map_op *m);
/* Writes the item of an op. Returns its end. */
uint64_t *tern_map_message_fill(const tern_map_op *m, bool bare, uint64_t *to);

/* Whether a message that is not bare fits a ring. */
bool tern_map_message_fits(const tern_map_op *m);
/* Whether the message of a change has its value in it, so that the owner makes the block. */
bool tern_map_message_has_value(const tern_map_op *m);

/* Sends the op to the owner. The call is under way. */
tern_status tern_map_message_send(tern_map_op *m);

/* Takes the answer to a change. */
tern_status tern_map_message_changed(tern_map_op *m);
/* Takes the answer to a find. [out] verdict: MINE if it had the value of a large descriptor, which
 * is now in its place; UNREAD if the value is still to be taken from the descriptor. */
tern_status tern_map_message_found(tern_map_op *m, tern_block_verdict *verdict);

#endif
