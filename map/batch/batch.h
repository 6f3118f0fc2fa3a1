#ifndef TERN_MAP_BATCH_BATCH_H
#define TERN_MAP_BATCH_BATCH_H

/*
 * Many ops of a map, for batches and buffers: finds, or inserts and adds. An op whose path is a
 * call to another rank goes into the bundle of its owner (hashtable/batch/scatter.h), whose message
 * and answer map/op/message.h describes. All others are done at once.
 *
 * A change that is too large for a bundle goes by a call of its own, up to 8 of which are under
 * way. A find that is too large, or whose value the owner leaves to the caller, goes by a call of
 * its own when all bundles are done. If an answer does not cover all finds of a bundle, the others
 * are sent again.
 *
 * Why inserts of one key take effect in their order: the key has one owner, so its ops take the
 * same path each time. Bundles and calls to that rank run in the order in which they are sent. The
 * bundle gathered for an owner is sent before a change goes to it by a call of its own.
 */

#include "map/op/message.h"
#include "tern/map.h"
#include "tern/request.h"

enum { TERN_LARGE_UNDER_WAY = 8 };

typedef struct tern_map_batch {
    tern_scatter scatter; /* its failure is the first error of any op */
    tern_scatter_ops ops;
    tern_map *map;
    tern_map_slot *slots; /* of finds; NULL: changes */
    tern_flags promise;
    bool by_call[2];     /* whether keys of other ranks go by call: where load and store do not
                            reach the owner's part, and where they do */
    uint64_t stored;     /* keys of which it is known that they are stored, counted, or there */
    uint64_t refused;    /* keys that found no room, or whose values found none */
    size_t later;        /* finds that are left for the end */
    size_t begun, ended; /* changes with calls of their own */
    size_t keys[TERN_LARGE_UNDER_WAY];
    tern_request large[TERN_LARGE_UNDER_WAY];
} tern_map_batch;

/* [out] batch: one that has decided how its ops go, and has no room for bundles. slots: of finds,
 * else NULL; name: of the function, for messages. TERN_ERR_UNSUPPORTED: the path that flags name is
 * not possible. */
tern_status tern_map_batch_choose(tern_map_batch *batch, tern_worker *worker, tern_map *map,
                                  tern_map_slot *slots, tern_flags flags, const char *name);

/* Whether any op may go by call. If none does, the batch needs no begin, finish and end. */
static inline bool tern_map_batch_calls(const tern_map_batch *batch) {
    return batch->by_call[batch->map->table->all_direct];
}

/* Makes room for bundles. The batch does not move until its end. expected: how many ops for one
 * owner come at most; limit: of bundles under way. TERN_ERR_MEMORY. */
tern_status tern_map_batch_begin(tern_map_batch *batch, size_t expected, uint32_t limit);

/* Runs an op to its end and notes its outcome. number: of a find the number of its slot, else how
 * many keys the op is for. TERN_ERR_AGAIN: a find by call, and the program has all calls. */
tern_status tern_map_batch_run(tern_map_batch *batch, tern_map_op *m, size_t number);

/* Takes an op, whose outcome will be noted. Returns the same errors as tern_scatter_item. */
tern_status tern_map_batch_take(tern_map_batch *batch, tern_map_op *m, size_t number);

/* Sends all bundles, waits for all answers, and does the finds that are left among the first count
 * slots. TERN_ERR_AGAIN: a bundle was not sent, as the program has all calls; it is kept. */
tern_status tern_map_batch_finish(tern_map_batch *batch, size_t count);

/* Frees the batch. Nothing may be under way. */
void tern_map_batch_end(tern_map_batch *batch);

#endif
