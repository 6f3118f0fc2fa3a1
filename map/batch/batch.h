#ifndef TERN_MAP_BATCH_BATCH_H
#define TERN_MAP_BATCH_BATCH_H

/*
 * Many ops of a map, for batches and buffers: finds, or inserts and adds. An op whose way is a call
 * to another rank goes into the piece of its owner (hashtable/batch/scatter.h), whose message and
 * answer map/op/message.h describes. All others are done at once.
 *
 * A change that no piece takes has a call of its own, up to 8 of which are under way. A find that
 * no piece takes, or whose value the owner leaves to the caller, has one when all pieces are done.
 * What is left of a piece of finds after its answer is sent again.
 *
 * Why inserts of one key take effect in their order: its owner is one rank, and so its way is the
 * same each time. Pieces and calls to that rank run in the order in which they are sent. What was
 * gathered for the owner is sent before a call of its own.
 */

#include "map/op/message.h"
#include "tern/map.h"
#include "tern/request.h"

enum { TERN_LARGE_UNDER_WAY = 8 };

typedef struct tern_map_batch {
    tern_scatter scatter; /* its failure is that of all ops */
    tern_scatter_ops ops;
    tern_map *map;
    tern_map_slot *slots; /* of finds; NULL: changes */
    uint64_t stored;      /* keys that are known to be stored, counted, or there */
    uint64_t refused;     /* keys that found no room, or whose values found none */
    size_t later;         /* finds that are left for the end */
    size_t begun, ended;  /* changes with calls of their own */
    size_t keys[TERN_LARGE_UNDER_WAY];
    tern_request large[TERN_LARGE_UNDER_WAY];
} tern_map_batch;

/* The batch does not move until its end. slots: of finds, else NULL; expected: ops that will come
 * at most for one owner; limit: of pieces under way. TERN_ERR_MEMORY. */
tern_status tern_map_batch_begin(tern_map_batch *batch, tern_worker *worker, tern_map *map,
                                 tern_map_slot *slots, size_t expected, uint32_t limit);

/* Does an op at once, and notes what comes of it. number: of a find that of its slot, else of the
 * keys that it is for. TERN_ERR_AGAIN: it is a find by call, and the program holds all calls. */
tern_status tern_map_batch_here(tern_map_batch *batch, tern_map_op *m, size_t number);

/* Takes an op. What comes of it is noted. Errors as those of tern_scatter_item. */
tern_status tern_map_batch_take(tern_map_batch *batch, tern_map_op *m, size_t number,
                                tern_flags flags);

/* Sends what is begun, waits for all answers, and does the finds that are left, of count slots that
 * are taken. TERN_ERR_AGAIN: something could not be sent, as the program holds all calls, and is
 * still there. */
tern_status tern_map_batch_finish(tern_map_batch *batch, size_t count);

/* Nothing may be under way. */
void tern_map_batch_end(tern_map_batch *batch);

#endif
