#ifndef TERN_MAP_BATCH_H
#define TERN_MAP_BATCH_H

/*
 * Many keys of a map (tern/map.h) in one operation. By call the keys of one owner travel together:
 * up to 512 of them in a message of at most 16 KiB, or of what a ring takes at a time, and what
 * became of them comes back in one answer. An item takes 32 bytes beside its key and value. An
 * answer to finds has up to 16 KiB; if the values of a message have more, the rest of the keys are
 * sent again. A key and a value that fit no message have a call of their own, up to 8 of which are
 * under way; finds of keys that fit no message, or of values that fit no answer, come one by one at
 * the end. A batch uses up to 40 of the worker's calls (TERN_CALL_REQUESTS), and fewer if the
 * program holds some: TERN_ERR_AGAIN if it holds all, and then some of the keys may be done. By RMA
 * the keys are done one after the other, which is fastest where load/store reaches them. TERN_AUTO
 * goes by RMA there, otherwise by call.
 *
 * By call equal keys of inserts and adds travel together, so that a few keys which are most of a
 * batch cost next to nothing: if a quarter of the batch's first 128 keys are repetitions, all
 * repetitions within each 512 keys are one item.
 *
 * Each key is an operation of its own, which takes effect between the beginning and the end of the
 * batch; of several values of one key the last one stays. Other ranks are served meanwhile. Not in
 * handlers: TERN_ERR_STATE.
 */

#include "tern/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Stores the values of count items under their keys, as tern_map_insert does.
 *
 * @param worker the calling worker
 * @param map the map
 * @param items keys and values, which need no alignment here; may be NULL if count is 0
 * @param count number of items
 * @param flags a promise and a way, or 0 (tern/flags.h)
 * @param[out] done number of items that are stored for certain, whatever the status, once the
 *     arguments have been checked; may be NULL
 * @return TERN_OK; TERN_ERR_FULL if some keys found no room, and the others are stored;
 *     TERN_ERR_RANGE if a key or a value is too large; otherwise the statuses of tern_map_insert,
 *     of an item that failed, and then others may not be stored
 *
 * Blocking: as tern_map_insert. */
TERN_NODISCARD TERN_API tern_status tern_map_insert_many(tern_worker *worker, tern_map *map,
                                                         const tern_map_item *items, size_t count,
                                                         tern_flags flags, size_t *done);

/** Adds delta to the numbers of count keys, as tern_map_add does.
 *
 * @param items keys; their values are not looked at
 * @param[out] done number of items that are counted for certain, as above; may be NULL
 * @return as tern_map_insert_many and tern_map_add */
TERN_NODISCARD TERN_API tern_status tern_map_add_many(tern_worker *worker, tern_map *map,
                                                      const tern_map_item *items, size_t count,
                                                      uint64_t delta, tern_flags flags,
                                                      size_t *done);

/* A key to look for, and room for its value. */
typedef struct tern_map_slot {
    const void *key;
    size_t key_bytes;
    void *value;        /* [out] room for room bytes; stays as it is if the key is not there */
    size_t room;        /* bytes */
    size_t value_bytes; /* [out] size of the value; 0 if the key is not there */
    int found;          /* [out] 1 if the key is there, else 0 */
} tern_map_slot;

/** Copies the values of count keys, as tern_map_find does.
 *
 * @param worker the calling worker
 * @param map the map
 * @param slots keys and rooms, which may not overlap; may be NULL if count is 0
 * @param count number of slots
 * @param flags a promise and a way, or 0 (tern/flags.h)
 * @param[out] done number of keys that are there; may be NULL
 * @return TERN_OK; TERN_ERR_RANGE if a value has more bytes than its room: its slot says how many,
 *     and the other values are there; otherwise the statuses of tern_map_find, of a key
 *     that failed, and then what was written to the slots is not defined
 *
 * Blocking: as tern_map_find. */
TERN_NODISCARD TERN_API tern_status tern_map_find_many(tern_worker *worker, tern_map *map,
                                                       tern_map_slot *slots, size_t count,
                                                       tern_flags flags, size_t *done);

#ifdef __cplusplus
}
#endif

#endif
