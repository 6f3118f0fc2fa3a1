#ifndef TERN_HASHTABLE_BATCH_SCATTER_H
#define TERN_HASHTABLE_BATCH_SCATTER_H

/*
 * Scatter: items, each of which belongs to one owner, are gathered into one piece per owner. A full
 * piece is one call, and up to a limit are under way before the oldest reply is waited for. Pieces
 * of one owner run there in their order. Items of the caller's own part, and of its node's if so
 * wanted, are gathered too and done in place. A reply says how far the owner got; the rest of a
 * piece is sent again.
 */

#include "hashtable/call.h"
#include "rpc/call/await.h"

enum { TERN_PIECE_ITEMS = 512, TERN_PIECE_BYTES = 16384 };

/* What a message starts with; items follow, in whole words. */
typedef struct tern_piece_head {
    tern_table_head head;
    uint64_t word; /* of finds the number of this sending in the process; of adds what to add */
} tern_piece_head;

typedef struct tern_scatter_piece {
    struct tern_scatter_piece *next; /* in the list of those under way or not in use */
    tern_answer answer;
    uint32_t owner;
    uint32_t count;
    bool landed;    /* what came with a call of its own is there */
    size_t *number; /* of each item in the batch, behind the words */
    uint32_t *at;   /* where each item begins, and behind the last one the next, behind number */
    tern_piece_head head;
    uint64_t words[];
} tern_scatter_piece;

typedef struct tern_scatter tern_scatter;

/* What is done with pieces. */
typedef struct tern_scatter_ops {
    const tern_function *function;
    bool numbered;       /* each sending of a piece has a number */
    size_t answer_bytes; /* of the largest answer */
    /* Does a piece in place. */
    tern_status (*here)(tern_scatter *scatter, tern_scatter_piece *piece);
    /* Takes a reply. [out] done: items gone through, at least 1 unless there is an error. */
    tern_status (*take)(tern_scatter *scatter, tern_scatter_piece *piece, const void *reply,
                        size_t bytes, uint32_t *done);
} tern_scatter_ops;

struct tern_scatter {
    tern_worker *worker;
    tern_hashtable *table;
    const tern_scatter_ops *ops;
    uint32_t item_words; /* of items of one size */
    uint32_t piece_words, piece_items;
    uint32_t limit; /* of pieces under way; the oldest is waited for as soon as it is reached */
    uint32_t under_way;
    uint64_t word;       /* of the pieces' heads, where these are not numbered */
    bool local_in_place; /* parts of this node are like the own one: nothing is called there */
    tern_status failed;  /* the first error, and its detail: what comes later may overwrite that */
    char text[240];
    void *answer; /* room for one */
    tern_scatter_piece *unused;
    tern_scatter_piece *first, *last; /* under way, the oldest first */
    tern_scatter_piece **open;        /* by owner; NULL: none begun */
};

/* item_words: of an item; answer_bytes: of what comes back for one; expected: items that will come
 * at most. TERN_ERR_MEMORY. */
tern_status tern_scatter_begin(tern_scatter *scatter, tern_worker *worker, tern_hashtable *table,
                               const tern_scatter_ops *ops, size_t item_words, size_t answer_bytes,
                               size_t expected, uint32_t limit);

/* The same for items of different sizes. TERN_ERR_MEMORY. */
tern_status tern_scatter_begin_sizes(tern_scatter *scatter, tern_worker *worker,
                                     tern_hashtable *table, const tern_scatter_ops *ops,
                                     size_t expected, uint32_t limit);

/* [out] words: where an item of owner, of size words, is to be written; tern_scatter_written comes
 * next. A piece that has too little room left is sent first. On an error the item is not taken.
 * TERN_ERR_MEMORY; TERN_ERR_AGAIN: a piece is full and waits for a reply cell; errors of pieces
 * that have been given up. size: at most piece_words. */
tern_status tern_scatter_item(tern_scatter *scatter, uint32_t owner, size_t number, size_t size,
                              uint64_t **words);
/* The item is written: sends its piece if that is full, and makes progress then. An error is that
 * of a piece, which has been given up. */
tern_status tern_scatter_written(tern_scatter *scatter, uint32_t owner);

/* Gathers keys that lie one after the other, as items numbered from 0 that are keys alone, and
 * sends what is begun. Ends with the first error, as of the above. */
tern_status tern_scatter_keys(tern_scatter *scatter, const char *keys, size_t count);

/* Sends what is begun for one owner. */
tern_status tern_scatter_send_to(tern_scatter *scatter, uint32_t owner);

/* Sends what is begun. Waits for every reply. Both do all they can; their errors are also those of
 * tern_scatter_failure, but for TERN_ERR_AGAIN of the first, as above, which comes before others.
 */
tern_status tern_scatter_send(tern_scatter *scatter);
tern_status tern_scatter_wait(tern_scatter *scatter);

/* Keeps an error, unless there is an earlier one, and returns it. TERN_OK and TERN_ERR_AGAIN are
 * none. */
tern_status tern_scatter_note(tern_scatter *scatter, tern_status status);

/* The first error since the last such call, with its detail. */
tern_status tern_scatter_failure(tern_scatter *scatter);

/* Nothing may be under way. */
void tern_scatter_end(tern_scatter *scatter);

/* What lies in an item: a key; a key and its value, or what to add to its counter; combined, a key,
 * the value if there is one, and a count of keys (hashtable/batch/combine.h). */
typedef enum tern_item_kind { TERN_ITEM_KEY, TERN_ITEM_VALUE, TERN_ITEM_COMBINED } tern_item_kind;

static inline size_t tern_item_words(const tern_hashtable *table, tern_item_kind kind) {
    const uint32_t key = table->shape.key_words, value = table->shape.value_words;
    if (tern_shape_counts(table->shape))
        return key + (kind != TERN_ITEM_KEY);
    return key + (kind != TERN_ITEM_KEY ? value : 0) + (kind == TERN_ITEM_COMBINED);
}

/* In a handler: the table and the number of items of a message. TERN_ERR_STATE: no such table;
 * TERN_ERR_ARGUMENT: no whole items, or too many. */
tern_status tern_piece_read(tern_call_info *call, const void *message, size_t bytes,
                            tern_item_kind kind, tern_hashtable **table, size_t *count);

#endif
