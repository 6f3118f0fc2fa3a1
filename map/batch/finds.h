#ifndef TERN_MAP_BATCH_FINDS_H
#define TERN_MAP_BATCH_FINDS_H

/*
 * Finds of many keys. A key whose way is a call to another rank goes into the piece of its owner.
 * The owner answers with the values, up to 16 KiB of them; what is left of the piece is sent again.
 * A value that the owner does not reach, or that no answer takes, is found in a call of its own
 * when all pieces are done, and so is a key that no piece takes.
 */

#include "map/op/item.h"
#include "tern/map_batch.h"

typedef struct tern_map_finds {
    tern_scatter scatter; /* its failure is that of all finds */
    tern_map *map;
    tern_map_slot *slots;
    size_t present, refused; /* refused: their values found no room */
    size_t later;            /* to be found in calls of their own */
} tern_map_finds;

/* expected: keys that will come at most for one owner. TERN_ERR_MEMORY. */
tern_status tern_map_finds_begin(tern_map_finds *finds, tern_worker *worker, tern_map *map,
                                 tern_map_slot *slots, size_t expected);

/* Finds a key at once, and notes what comes of it. TERN_ERR_AGAIN: the program holds all calls. */
tern_status tern_map_find_here(tern_map_finds *finds, tern_map_slot *slot, const tern_map_key *key,
                               bool by_call, tern_flags promise);

/* Takes the key of slot number i. What comes of it is noted. Errors as tern_scatter_item. */
tern_status tern_map_finds_take(tern_map_finds *finds, size_t i, const tern_map_key *key,
                                tern_flags flags);

/* Sends what is begun, waits for all answers, and finds what is left, of count slots that are
 * taken. TERN_ERR_AGAIN: the program holds all calls. */
tern_status tern_map_finds_finish(tern_map_finds *finds, size_t count);

/* Nothing may be under way. */
void tern_map_finds_end(tern_map_finds *finds);

/*
 * The owner's side (finds_call.c).
 */

/* What came of an item. */
typedef enum tern_map_found {
    TERN_MAP_ABSENT,
    TERN_MAP_HERE,  /* its value follows */
    TERN_MAP_LARGE, /* it has more bytes than the caller has room for */
    TERN_MAP_LATER  /* no answer takes it, or the owner does not reach it */
} tern_map_found;

/* An answer is the number of items gone through, and for each item a word that says what came of it
 * (0-31) and how many bytes its value has (32-63), with the value behind it in whole words. */
enum { TERN_MAP_FOUND_WORDS = 1 + TERN_PIECE_BYTES / 8 };

static inline uint64_t tern_map_found_word(tern_map_found found, size_t bytes) {
    return (uint64_t)bytes << 32 | found;
}

/* Finds the keys of a piece, and answers. */
tern_status tern_map_on_finds(tern_call_info *call, const void *message, size_t bytes);

#endif
