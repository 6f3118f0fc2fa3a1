#ifndef TERN_MAP_H
#define TERN_MAP_H

/*
 * Distributed map: a hash table (tern/hashtable.h) whose keys and values are bytes of any size,
 * each of its own. What is small lies in the table itself; the rest in blocks, each in
 * the segment of the rank that inserted it by RMA, or of the key's owner where that was by call.
 *
 *     operation                    small              in a block
 *     insert, new key              CAS + W            the same
 *     insert, key is there         2 R + CAS + W + A  the same, and what was there is given back
 *     insert_new, key is there     2 R                the same
 *     erase, key is there          2 R + CAS + W + A  the same, and it is given back
 *     find, present                R                  2 R; R if the block is one's own
 *     find, absent                 R + A; R in a phase of reads
 *     any by call                  one round trip     the same; a find of more than 960 bytes, or
 *                                                     of what no load/store of the owner reaches,
 *                                                     R more
 *
 * (As in tern/hashtable.h: away from collisions, and an insert that meets what the last one did not
 * costs one R or CAS more. To write a block costs none of these: it is local. To give one back is a
 * call to the rank that it lies at, which nobody waits for, or nothing if it is one's own.)
 *
 * Promises, phases, linearizability, TERN_ERR_PEER and TERN_ERR_AGAIN are those of the table. A
 * find answers with a value that was inserted, whole, or not at all: a block has a hash of key and
 * value in the table, so one that was given back and used again meanwhile is noticed, and the find
 * looks again. What lies in a segment that died with its rank is TERN_ERR_PEER, but where
 * load/store still reaches it. Inserts and erases are not for handlers (TERN_ERR_STATE); finds by
 * RMA are.
 *
 * An archive (tern/archive.h) as value:
 *
 *     tern_writer_open(&writer, NULL, 0, 1 << 20);
 *     tern_write_string(&writer, name);
 *     TERN_WRITE(&writer, samples, count);
 *     tern_writer_finish(&writer, &archive, &bytes);
 *     tern_map_insert(worker, map, name, strlen(name), archive, bytes, promise, via, NULL);
 *
 *     tern_map_find(worker, map, name, strlen(name), promise, via, room, sizeof room, &bytes);
 *     tern_reader_open(&reader, room, bytes);
 *     tern_read_string(&reader, &text, NULL);
 *     TERN_READ_ARRAY(&reader, &samples, &count);
 */

#include "tern/context.h"
#include "tern/promise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest keys, values and inline sizes, in bytes. */
#define TERN_MAP_KEY_MAX 65536u
#define TERN_MAP_VALUE_MAX (1u << 30)
#define TERN_MAP_INLINE_MAX 960u

typedef struct tern_map tern_map;

/* What a map is made of. Zeroed fields take the defaults in brackets. */
typedef struct tern_map_options {
    uint64_t capacity;   /* keys that must fit into the whole map, 1 or more */
    size_t inline_bytes; /* key and value of so many bytes together lie in the table, up to
                            TERN_MAP_INLINE_MAX; rounded up to a multiple of 8, and at least 24,
                            which makes a bucket one cache line [24] */
    int call_only;       /* 1: no operation will use TERN_VIA_RMA (tern/hashtable.h) [0] */
} tern_map_options;

/* Collective over the ranks, one worker of each; blocks. Calls to a rank's part go to that worker,
 * or to the rank's service threads if there are any (tern/context.h). Errors as
 * tern_hashtable_create. */
TERN_NODISCARD TERN_API tern_status tern_map_create(tern_worker *worker,
                                                    const tern_map_options *options,
                                                    tern_map **map);
/* Collective; every operation must have returned everywhere. Gives all memory back; after a death
 * what others hold of this rank's blocks stays allocated. NULL is fine. The map is gone even where
 * the status is TERN_ERR_PEER. TERN_ERR_MISMATCH: the other ranks are in another collective
 * function; the map stays as it was. */
TERN_NODISCARD TERN_API tern_status tern_map_destroy(tern_worker *worker, tern_map *map);

/* Stores a copy of value under key, whether the key is there or not. Either may have 0 bytes (and
 * be NULL then). [out] existed (may be NULL). On any error the map is unchanged, but after
 * TERN_ERR_PEER an owner that died may hold the value where load/store still reaches it.
 * TERN_ERR_MEMORY: the segment that the block belongs into has no room for it
 * (TERN_SEGMENT_SIZE); TERN_ERR_RANGE: larger than the limits above; TERN_ERR_EXISTS: another key
 * has the same fingerprint, 160 bits of a hash with a seed that is random for every map;
 * TERN_ERR_FULL, TERN_ERR_UNSUPPORTED, TERN_ERR_ARGUMENT as tern_hashtable_insert; TERN_ERR_SYSTEM:
 * the owner's reply makes no sense; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_map_insert(tern_worker *worker, tern_map *map,
                                                    const void *key, size_t key_bytes,
                                                    const void *value, size_t value_bytes,
                                                    tern_promise promise, tern_via via,
                                                    int *existed);

/* The same, but a value that is there is left alone. [out] existed (may be NULL): it is. */
TERN_NODISCARD TERN_API tern_status tern_map_insert_new(tern_worker *worker, tern_map *map,
                                                        const void *key, size_t key_bytes,
                                                        const void *value, size_t value_bytes,
                                                        tern_promise promise, tern_via via,
                                                        int *existed);

/* Takes key, with its value, out of the map. TERN_ERR_NOT_FOUND: no such key; TERN_ERR_RANGE: no
 * key is as large; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_map_erase(tern_worker *worker, tern_map *map,
                                                   const void *key, size_t key_bytes,
                                                   tern_promise promise, tern_via via);

/* [out] value: room for room bytes (NULL if that is 0), whose content is undefined on an error;
 * [out] value_bytes (may be NULL). TERN_ERR_RANGE: the value has more bytes than room, and
 * value_bytes says how many; or no key is as large. TERN_ERR_NOT_FOUND: no such key.
 * TERN_ERR_AGAIN: in a handler, where the value was just being replaced. TERN_ERR_MEMORY: no room
 * for a copy. TERN_ERR_SYSTEM: the block was written over, or the owner's reply makes no sense. */
TERN_NODISCARD TERN_API tern_status tern_map_find(tern_worker *worker, tern_map *map,
                                                  const void *key, size_t key_bytes,
                                                  tern_promise promise, tern_via via, void *value,
                                                  size_t room, size_t *value_bytes);

/* A key with its value, both 8-byte aligned, valid until the visit returns. */
typedef struct tern_map_item {
    const void *key, *value;
    size_t key_bytes, value_bytes;
} tern_map_item;

/* Calls visit for each key that this rank owns, in no order, until visit returns non-zero, which
 * ends it with TERN_OK. No rank may change the map meanwhile. Waits only for values that lie at
 * other nodes, which their ranks' progress may have to serve; not in a handler then
 * (TERN_ERR_STATE). TERN_ERR_PEER: one of these has died. */
TERN_NODISCARD TERN_API tern_status tern_map_for_each(tern_worker *worker, tern_map *map,
                                                      int (*visit)(const tern_map_item *item,
                                                                   void *argument),
                                                      void *argument);

/* The same for the keys of all ranks. Any rank may call it, alone. */
TERN_NODISCARD TERN_API tern_status
tern_map_for_each_anywhere(tern_worker *worker, tern_map *map,
                           int (*visit)(const tern_map_item *item, void *argument), void *argument);

/* Collective, ends phases as tern_barrier does; blocks. [out] count: keys in the whole map, on
 * every rank. TERN_ERR_PEER; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_map_size(tern_worker *worker, tern_map *map,
                                                  uint64_t *count);

/* Collective, ends phases as tern_barrier does, and the calls that are under way as tern_quiesce;
 * blocks. Takes all keys out of the map and gives all their memory back. TERN_ERR_PEER: of the keys
 * some or all may be gone; TERN_ERR_STATE in a handler. */
TERN_NODISCARD TERN_API tern_status tern_map_clear(tern_worker *worker, tern_map *map);

/* [out] count: keys that this rank owns. Local; exact when nobody changes the map. */
TERN_NODISCARD TERN_API tern_status tern_map_local_size(tern_worker *worker, tern_map *map,
                                                        uint64_t *count);

/* The rank that owns key; UINT32_MAX if map or key is NULL or the key is too large. Local. */
TERN_API uint32_t tern_map_owner(const tern_map *map, const void *key, size_t key_bytes);

#ifdef __cplusplus
}
#endif

#endif
