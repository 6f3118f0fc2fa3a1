#ifndef TERN_HASHTABLE_BATCH_SCATTER_H
#define TERN_HASHTABLE_BATCH_SCATTER_H

/*
 * Scatter sorts the items of a batch by owner. A bundle gathers the items of one owner and is sent
 * to it by one call when it is full. Up to a limit of bundles are under way before the sender waits
 * for the oldest reply. An owner works on its bundles in their order. Items of the caller's own
 * part, and of its node's parts if so wanted, are gathered too and done in place. A reply says how
 * far the owner got, and the rest of the bundle is sent again.
 */

#include "hashtable/op/message.h"
#include "rpc/call/await.h"
#include "src/holder.h"

typedef struct tern_scatter_bundle {
    struct tern_scatter_bundle *next; /* in the list of those under way or not in use */
    tern_answer answer;
    uint32_t owner;
    uint32_t count;
    uint32_t landed; /* items whose answer has come, in a call of its own (tern_found_late) */
    size_t *number;  /* of each item in the batch, behind the words */
    uint32_t *at;    /* where each item begins, and behind the last one the next, behind number */
    tern_bundle_head head;
    uint64_t words[]; /* the numbers of all items, and the items */
} tern_scatter_bundle;

typedef struct tern_scatter tern_scatter;

/* What is done with bundles. */
typedef struct tern_scatter_ops {
    const tern_function *function;
    size_t answer_bytes; /* of the largest answer */
    /* Does a bundle in place. */
    tern_status (*here)(tern_scatter *scatter, tern_scatter_bundle *bundle);
    /* Takes a reply. [out] done: items gone through, at least 1 unless there is an error. */
    tern_status (*take)(tern_scatter *scatter, tern_scatter_bundle *bundle, const void *reply,
                        size_t bytes, uint32_t *done);
} tern_scatter_ops;

struct tern_scatter {
    tern_worker *worker;
    tern_hashtable *table;
    const tern_scatter_ops *ops;
    uint32_t item_words; /* of items of one size */
    uint32_t bundle_words, bundle_items;
    uint32_t limit; /* of bundles under way; the oldest is waited for as soon as it is reached */
    uint32_t under_way;
    tern_bundle_head head; /* of bundles */
    uint64_t number[2];    /* of all items, */
    uint32_t numbers;      /* so many */
    tern_flags flags;      /* of the batch, which may work on parts of its node itself */
    tern_status failed; /* the first error, and its detail: what comes later may overwrite that */
    char text[240];
    void *answer; /* room for one */
    tern_scatter_bundle *unused;
    tern_scatter_bundle *first, *last; /* under way, the oldest first */
    tern_scatter_bundle **open;        /* by owner; NULL: none begun */
    tern_holder holder;                /* of a buffer (buffered.h) */
};

/* kind, form: of the items; number: of all of them, as many as the kind has; answer_bytes: of what
 * comes back for one; expected: items that will come at most. TERN_ERR_MEMORY. */
tern_status tern_scatter_begin(tern_scatter *scatter, tern_worker *worker, tern_hashtable *table,
                               const tern_scatter_ops *ops, uint8_t kind, uint8_t form,
                               const uint64_t *number, size_t answer_bytes, size_t expected,
                               uint32_t limit);

/* The same for items of different sizes. TERN_ERR_MEMORY. */
tern_status tern_scatter_begin_sizes(tern_scatter *scatter, tern_worker *worker,
                                     tern_hashtable *table, const tern_scatter_ops *ops,
                                     size_t expected, uint32_t limit);

/* Sends the bundle that is begun for one owner, if there is one. */
tern_status tern_scatter_send_to(tern_scatter *scatter, uint32_t owner);

/* Makes room for an item of owner: sends a bundle that has too little room left, and begins one
 * if none is begun. */
tern_status tern_scatter_make_room(tern_scatter *scatter, uint32_t owner, size_t size);

/* Makes room for an item of size words in the owner's bundle. [out] words: where the caller writes
 * the item before it calls tern_scatter_written. If the bundle has too little room left, it is sent
 * first. On an error the item is not taken. TERN_ERR_MEMORY; TERN_ERR_AGAIN: a bundle is full and
 * waits for a reply cell; errors of bundles that have been given up. size: at most bundle_words. */
static inline tern_status tern_scatter_item(tern_scatter *scatter, uint32_t owner, size_t number,
                                            size_t size, uint64_t **words) {
    tern_scatter_bundle *bundle = scatter->open[owner];
    if (__builtin_expect(bundle == NULL || bundle->count == scatter->bundle_items ||
                             bundle->at[bundle->count] + size > scatter->bundle_words,
                         0)) {
        const tern_status status = tern_scatter_make_room(scatter, owner, size);
        if (status != TERN_OK)
            return status;
        bundle = scatter->open[owner];
    }
    const uint32_t at = bundle->at[bundle->count];
    bundle->number[bundle->count] = number;
    bundle->at[bundle->count + 1] = at + (uint32_t)size;
    *words = bundle->words + at;
    return TERN_OK;
}

/* Called when the item is written. If its bundle is full, sends the bundle and makes progress. The
 * error is that of a bundle that was given up. */
static inline tern_status tern_scatter_written(tern_scatter *scatter, uint32_t owner) {
    if (__builtin_expect(++scatter->open[owner]->count < scatter->bundle_items, 1))
        return TERN_OK;
    return tern_scatter_send_to(scatter, owner);
}

/* Send all begun bundles; wait for all replies. Both go on after an error. tern_scatter_failure
 * also returns their errors, except TERN_ERR_AGAIN (as above), which the first returns before
 * others. */
tern_status tern_scatter_send(tern_scatter *scatter);
tern_status tern_scatter_wait(tern_scatter *scatter);

/* Keeps an error, unless there is an earlier one. Returns status. TERN_OK and TERN_ERR_AGAIN are
 * not kept. */
tern_status tern_scatter_note(tern_scatter *scatter, tern_status status);

/* The first error since the last such call, with its detail. */
tern_status tern_scatter_failure(tern_scatter *scatter);

/* Frees the scatter. Nothing may be under way. */
void tern_scatter_end(tern_scatter *scatter);

#endif
