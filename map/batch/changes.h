#ifndef TERN_MAP_BATCH_CHANGES_H
#define TERN_MAP_BATCH_CHANGES_H

/*
 * Inserts and adds of many keys, for batches and buffers. A key whose way is a call to another rank
 * goes into the piece of its owner. A key and value that no piece takes have a call of their own,
 * up to 8 of which are under way. All other changes are done at once.
 *
 * Why inserts of one key take effect in their order: its owner is one rank, and so its way is the
 * same each time. Pieces and calls to that rank run in the order in which they are sent. What was
 * gathered for the owner is sent before a call of its own.
 */

#include "map/op/item.h"
#include "tern/request.h"

enum { TERN_LARGE_UNDER_WAY = 8 };

typedef struct tern_map_changes {
    tern_scatter scatter; /* its failure is that of all changes */
    tern_map *map;
    uint64_t stored, refused; /* keys that are known to be */
    size_t begun, ended;      /* calls of their own */
    size_t keys[TERN_LARGE_UNDER_WAY];
    tern_request large[TERN_LARGE_UNDER_WAY];
} tern_map_changes;

/* expected: changes that will come at most for one owner; limit: of pieces under way.
 * TERN_ERR_MEMORY. */
tern_status tern_map_changes_begin(tern_map_changes *changes, tern_worker *worker, tern_map *map,
                                   size_t expected, uint32_t limit);

/* A change for count keys of the batch: an INSERT, or an ADD with m->op.number. */
static inline void tern_map_change_init(tern_map_op *m, const tern_map_changes *changes, bool adds,
                                        uint64_t delta, tern_flags promise, const void *value,
                                        size_t value_bytes) {
    tern_map_op_init_change(m, adds ? TERN_OP_ADD : TERN_OP_INSERT, changes->scatter.worker,
                            changes->map, promise, value, adds ? sizeof delta : value_bytes);
    m->op.number = delta;
}

/* Does a change at once, by RMA or on a key of this rank, and notes what comes of it. */
void tern_map_change_here(tern_map_changes *changes, tern_map_op *m, size_t count);

/* Takes a change. What comes of it is noted. On an error it has not been taken: as
 * tern_scatter_item. */
tern_status tern_map_changes_take(tern_map_changes *changes, tern_map_op *m, size_t count,
                                  tern_flags flags);

/* Sends what is begun, and waits for all answers. TERN_ERR_AGAIN: something could not be sent, as
 * the program holds all calls, and is still there. */
tern_status tern_map_changes_finish(tern_map_changes *changes);

/* Nothing may be under way. */
void tern_map_changes_end(tern_map_changes *changes);

/*
 * The owner's side (changes_call.c).
 */

/* What came of an item. */
typedef enum tern_map_outcome {
    TERN_MAP_STORED,
    TERN_MAP_REFUSED, /* for want of room */
    TERN_MAP_FAR,     /* the number lies in a block that the owner does not reach: not added */
    TERN_MAP_FAILED
} tern_map_outcome;

/* The answer to a piece: this, an outcome for each item, padded to words, and the blocks that the
 * caller has to give back. */
typedef struct tern_map_changes_answer {
    uint32_t blocks;
    uint32_t status; /* of the first item that failed */
    char text[240];
    unsigned char outcome[];
} tern_map_changes_answer;

static inline size_t tern_map_answer_bytes(size_t items, size_t blocks) {
    return sizeof(tern_map_changes_answer) + 8 * tern_map_words(items) + blocks * sizeof(tern_ptr);
}

/* The most items of a piece of which each replaces a block. */
#define TERN_MAP_ANSWER_MAX                                                                        \
    (sizeof(tern_map_changes_answer) + TERN_PIECE_ITEMS * (1 + sizeof(tern_ptr)))

/* Does the changes of a piece, and answers. */
tern_status tern_map_on_changes(tern_call_info *call, const void *message, size_t bytes);

#endif
