#ifndef TERN_MAP_H
#define TERN_MAP_H

/*
 * Distributed map: a hash table (tern/hashtable.h) whose keys and values are bytes of any size,
 * which may differ from key to key. A small key and value lie in the table itself. A large one lies
 * in a block: in the segment of the rank that inserted it by RMA, or of the key's owner if it was
 * inserted by call.
 *
 *     operation                    small              in a block
 *     insert, new key              A                  the same
 *     insert, key is there         2 A                the same, and the old block is given back
 *     insert_new, key is there     R + A              the same
 *     erase, key is there          R + A              the same, and the block is given back
 *     find, present                R                  2 R; R if the block is in the own segment
 *     find, absent                 R
 *     add, compare_swap            3 R + 2 A + W      (numbers are small)
 *     add, new key                 R + A
 *     any by call                  one round trip     the same; R more for a find of more than 960
 *                                                     bytes, or of a block that the owner does not
 *                                                     reach by load/store
 *
 * R is a get, W a put, A an atomic, without collisions, and where owners put the entry that goes
 * with an atomic, as in tern/hashtable.h; elsewhere an insert costs a W more, and an absent key an
 * A. Writing a block is local and costs none of these. Giving a block back is a call to its rank,
 * for which nobody waits; for a block in the own segment it costs nothing.
 *
 * A map that grows moves descriptors and no blocks: a key's block stays where it is. While keys are
 * moved, an operation may cost an operation more of each kind.
 *
 * Promises, phases, linearizability, TERN_ERR_PEER and TERN_ERR_AGAIN are those of the table. A
 * find returns a complete value that was inserted, or none: the table holds a hash of key and value
 * for each block, so the find notices a block that was given back and used again meanwhile, and
 * looks again. TERN_ERR_PEER is returned for a value in the segment of a rank that died, unless
 * load/store still reaches it.
 *
 * In handlers: by RMA where load/store reaches the owner, and on keys of the own rank by call too.
 * They return TERN_ERR_AGAIN in place of a wait, and nothing has changed. A value that lies in a
 * block of another rank is found, but not replaced, modified or erased: TERN_ERR_STATE. All else is
 * TERN_ERR_STATE, batches always.
 *
 * Words are counted by a map alone:
 *
 *     tern_map_add(worker, map, word, strlen(word), 1, 0, NULL);
 *
 * An archive (tern/archive.h) as a value:
 *
 *     tern_writer_open(&writer, NULL, 0, 1 << 20);
 *     tern_write_string(&writer, name);
 *     TERN_WRITE(&writer, samples, count);
 *     tern_writer_finish(&writer, &archive, &bytes);
 *     tern_map_insert(worker, map, name, strlen(name), archive, bytes, flags, NULL);
 *
 *     tern_map_find(worker, map, name, strlen(name), flags, room, sizeof room, &bytes);
 *     tern_reader_open(&reader, room, bytes);
 *     tern_read_string(&reader, &text, NULL);
 *     TERN_READ_ARRAY(&reader, &samples, &count);
 *
 * Files: tern/map_file.h.
 */

#include "tern/context.h"
#include "tern/flags.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest keys, values and inline sizes, in bytes. */
#define TERN_MAP_KEY_MAX 65536u
#define TERN_MAP_VALUE_MAX (1u << 30)
#define TERN_MAP_INLINE_MAX 960u

/* A map over all ranks. Its members are tern's own. */
typedef struct tern_map tern_map;

/* Options of tern_map_create. A zeroed field takes the default in brackets. */
typedef struct tern_map_options {
    uint64_t capacity;   /* keys that must fit into the whole map, 1 or more */
    size_t inline_bytes; /* a key and value of at most so many bytes together lie in the table; up
                            to TERN_MAP_INLINE_MAX, rounded up to a multiple of 8 and to at least
                            24, which makes a bucket one cache line [24] */
    int call_only;       /* 1: no operation will use TERN_BY_RMA (tern/hashtable.h) [0] */
    int grow;            /* 1: a rank's part that gets full becomes larger, as that of a table does
                            (tern/hashtable.h); capacity is what it begins with [0] */
    /* Places keys by a part of them, as key_owner of tern_hashtable_options does [a key's hash says
     * its rank]. A key comes with its size and at the address that the operation was given.
     * Operations call it at the rank that uses the key, not at the owner. key_argument: passed to
     * it. Both must last as long as the map. */
    uint64_t (*key_owner)(const void *key, size_t key_bytes, void *key_argument);
    /* Says which keys are the same: keys for which it writes the same 128 bits are one key,
     * whatever their bytes and lengths [keys of the same bytes]. It is hash and equality in one, as
     * a hash of so many bits does not give the same for two keys by chance: XXH3_128bits of a form
     * in which such keys have the same bytes, as words in small letters. The map keeps the bytes
     * that were last inserted. Handlers at the owner call it too. The rules of key_owner are its
     * rules otherwise, and keys that are the same must have the same owner. */
    void (*key_digest)(const void *key, size_t key_bytes, uint64_t digest[2], void *key_argument);
    void *key_argument;
} tern_map_options;

/** Creates a map. Calls to a rank's part go to the worker that creates it, or to the rank's service
 * threads if there are any (tern/context.h).
 *
 * @param worker the calling worker
 * @param options the same on every rank
 * @param[out] map the map; the caller destroys it with tern_map_destroy
 * @return the statuses of tern_hashtable_create
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_create(tern_worker *worker,
                                                    const tern_map_options *options,
                                                    tern_map **map);
/** Frees the map and all its memory. NULL is allowed. Every operation must have returned on every
 * rank. Completes the calls that are under way as tern_quiesce does: threads that keep a worker
 * make progress for it meanwhile, because a block that the worker let go of may still wait to be
 * told to its owner.
 *
 * @return TERN_OK; TERN_ERR_PEER if a rank died, and then the map is gone all the same, but the
 *     blocks of this rank that other ranks' parts name stay allocated; TERN_ERR_MISMATCH if the
 *     other ranks are in another collective function, and TERN_ERR_ARGUMENT or TERN_ERR_STATE in a
 *     handler: the map stays as it was
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_destroy(tern_worker *worker, tern_map *map);

/** Stores a copy of a value under a key, and replaces the value of a key that is there.
 *
 * @param worker the calling worker
 * @param map the map
 * @param key key_bytes bytes; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param value value_bytes bytes; may be NULL if value_bytes is 0
 * @param value_bytes 0 to TERN_MAP_VALUE_MAX
 * @param flags a promise and a way, or 0 (tern/flags.h)
 * @param[out] existed 1 if the key was there, else 0; may be NULL
 * @return TERN_OK; TERN_ERR_MEMORY if the segment of the block has no room for it
 *     (TERN_SEGMENT_SIZE); TERN_ERR_RANGE if key or value is too large; TERN_ERR_EXISTS if another
 *     key has the same fingerprint, which is 160 bits of a hash with a random seed for every map;
 *     TERN_ERR_FULL, TERN_ERR_UNSUPPORTED and TERN_ERR_ARGUMENT as tern_hashtable_insert;
 *     TERN_ERR_SYSTEM if the owner's reply is not valid; TERN_ERR_STATE in a
 *     handler, if it may wait; TERN_ERR_AGAIN; TERN_ERR_PEER
 *
 * On an error the map is unchanged, with one exception: after TERN_ERR_PEER, TERN_ERR_NETWORK,
 * TERN_ERR_MPI and TERN_ERR_SYSTEM the owner's part may hold the value. So its block stays
 * allocated then.
 *
 * Blocking: until the key's bucket is available; by call, until the owner answers. */
TERN_NODISCARD TERN_API tern_status tern_map_insert(tern_worker *worker, tern_map *map,
                                                    const void *key, size_t key_bytes,
                                                    const void *value, size_t value_bytes,
                                                    tern_flags flags, int *existed);

/** tern_map_insert that leaves the value of a key that is there unchanged.
 *
 * @param[out] existed 1 if the key was there and nothing was stored, else 0; may be NULL */
TERN_NODISCARD TERN_API tern_status tern_map_insert_new(tern_worker *worker, tern_map *map,
                                                        const void *key, size_t key_bytes,
                                                        const void *value, size_t value_bytes,
                                                        tern_flags flags, int *existed);

/** Removes a key and its value from the map.
 *
 * @return TERN_OK; TERN_ERR_NOT_FOUND if there is no such key; TERN_ERR_RANGE if the key is larger
 *     than TERN_MAP_KEY_MAX; otherwise the statuses of tern_map_insert
 *
 * Blocking: as tern_map_insert. */
TERN_NODISCARD TERN_API tern_status tern_map_erase(tern_worker *worker, tern_map *map,
                                                   const void *key, size_t key_bytes,
                                                   tern_flags flags);

/** Adds to the number that is the value of a key, and inserts the key if it is not there. The
 * number is a uint64_t, the bytes of which are the value. It wraps around.
 *
 * @param worker the calling worker
 * @param map the map
 * @param key key_bytes bytes; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param delta what is added; the value of a new key
 * @param flags a promise and a way, or 0 (tern/flags.h). TERN_AUTO goes as in tern_map_modify
 * @param[out] before the number before; 0 if the key was not there; may be NULL
 * @return TERN_OK; TERN_ERR_RANGE if the value has another size than 8 bytes, and then it stays;
 *     otherwise the statuses of tern_map_insert
 *
 * Blocking: as tern_map_insert. It costs what tern_map_modify costs (tern/map_modify.h). */
TERN_NODISCARD TERN_API tern_status tern_map_add(tern_worker *worker, tern_map *map,
                                                 const void *key, size_t key_bytes, uint64_t delta,
                                                 tern_flags flags, uint64_t *before);

/** Makes the number that is the value of a key desired if it is expected.
 *
 * @param expected the number that is replaced
 * @param desired the number that takes its place
 * @param[out] before the number before; it was changed if this equals expected; may be NULL
 * @return TERN_OK; TERN_ERR_NOT_FOUND if there is no such key; otherwise the statuses of
 *     tern_map_add
 *
 * Blocking: as tern_map_insert. */
TERN_NODISCARD TERN_API tern_status tern_map_compare_swap(tern_worker *worker, tern_map *map,
                                                          const void *key, size_t key_bytes,
                                                          uint64_t expected, uint64_t desired,
                                                          tern_flags flags, uint64_t *before);

/** Copies the value of a key.
 *
 * @param worker the calling worker
 * @param map the map
 * @param key key_bytes bytes; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param flags a promise and a way, or 0 (tern/flags.h)
 * @param[out] value room for room bytes, undefined on an error; may be NULL if room is 0
 * @param room bytes
 * @param[out] value_bytes size of the value; may be NULL
 * @return TERN_OK; TERN_ERR_NOT_FOUND if there is no such key; TERN_ERR_RANGE if the value has more
 *     bytes than room, and value_bytes tells how many, or if the key is larger than
 *     TERN_MAP_KEY_MAX; TERN_ERR_AGAIN in a handler, if the value is being replaced;
 *     TERN_ERR_MEMORY if there was no memory for a copy; TERN_ERR_CORRUPT if the memory of the
 *     value was written over; TERN_ERR_SYSTEM if the owner's reply is not valid; TERN_ERR_PEER;
 *     others as tern_hashtable_find
 *
 * Blocking: until the value has arrived; by call, until the owner answers. */
TERN_NODISCARD TERN_API tern_status tern_map_find(tern_worker *worker, tern_map *map,
                                                  const void *key, size_t key_bytes,
                                                  tern_flags flags, void *value, size_t room,
                                                  size_t *value_bytes);

/** Copies the value of a key into new memory of the size that it takes.
 *
 * @param worker the calling worker
 * @param map the map
 * @param key key_bytes bytes; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param flags a promise and a way, or 0 (tern/flags.h)
 * @param[out] value memory from malloc that holds the value; the caller gives it to free. It is not
 *     NULL if the value is empty. Unchanged on an error
 * @param[out] value_bytes size of the value; unchanged on an error
 * @return TERN_OK; TERN_ERR_MEMORY if the process has no memory for the value; otherwise the
 *     statuses of tern_map_find. TERN_ERR_RANGE only says that the key is too large
 *
 * Blocking: as tern_map_find. A handler may call it where it may call tern_map_find. It costs what
 * tern_map_find costs, one malloc, and a copy more of a value of up to 960 bytes. */
TERN_NODISCARD TERN_API tern_status tern_map_find_alloc(tern_worker *worker, tern_map *map,
                                                        const void *key, size_t key_bytes,
                                                        tern_flags flags, void **value,
                                                        size_t *value_bytes);

/* A key with its value. Both are 8-byte aligned, and valid until the visit returns. */
typedef struct tern_map_item {
    const void *key, *value;
    size_t key_bytes, value_bytes;
} tern_map_item;

/** Calls visit for each key that this rank owns, in no particular order. If visit returns a value
 * other than 0, the walk ends there with TERN_OK. No rank may change the map meanwhile.
 *
 * @param worker the calling worker
 * @param map the map
 * @param visit the function; it gets argument
 * @return TERN_OK; TERN_ERR_PEER if a rank that holds a value has died; TERN_ERR_MEMORY;
 *     TERN_ERR_ARGUMENT; TERN_ERR_STATE if the map was changed meanwhile, and in a handler if
 *     values lie on other nodes
 *
 * Blocking: waits only for values on other nodes. Their ranks may have to make progress. */
TERN_NODISCARD TERN_API tern_status tern_map_for_each(tern_worker *worker, tern_map *map,
                                                      int (*visit)(const tern_map_item *item,
                                                                   void *argument),
                                                      void *argument);

/** tern_map_for_each for the keys of all ranks. It is not collective: a single rank may call it. */
TERN_NODISCARD TERN_API tern_status
tern_map_for_each_anywhere(tern_worker *worker, tern_map *map,
                           int (*visit)(const tern_map_item *item, void *argument), void *argument);

/** Returns the number of keys in the whole map. It ends phases as tern_barrier does.
 *
 * @param[out] count number of keys, the same on every rank
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_STATE in a handler; TERN_ERR_PEER; TERN_ERR_MISMATCH
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_size(tern_worker *worker, tern_map *map,
                                                  uint64_t *count);

/** Removes all keys from the map and gives their memory back. It ends phases as tern_barrier does,
 * and completes the calls that are under way as tern_quiesce does.
 *
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_STATE in a handler; TERN_ERR_MISMATCH; TERN_ERR_PEER
 *     if a rank died, and then some or all of the keys may be gone
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_clear(tern_worker *worker, tern_map *map);

/** Returns the number of keys that this rank owns. The number is exact while nobody changes the
 * map. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_map_local_size(tern_worker *worker, tern_map *map,
                                                        uint64_t *count);

/** Returns the rank that owns a key, by key_owner if that is given, or UINT32_MAX if map is NULL,
 * key is NULL with key_bytes other than 0, or the key is too large. Local, never blocks. */
TERN_API uint32_t tern_map_owner(const tern_map *map, const void *key, size_t key_bytes);

/** Explains which way this worker's blocking finds, inserts and erasures by TERN_AUTO go on the
 * part of a rank, and why, as tern_hashtable_explain does. Requests, batches and modifications by
 * TERN_AUTO go by RMA where load/store reaches the part, and else by call.
 *
 * @param worker the calling worker
 * @param map the map
 * @param owner the rank whose part is asked about
 * @param[out] text the caller's memory of room bytes. The text is cut to fit, and ends with a zero
 *     byte unless room is 0; may be NULL if room is 0
 * @param room bytes
 * @param[out] bytes of the whole text, without the zero byte; may be NULL
 * @return TERN_OK; TERN_ERR_ARGUMENT, and nothing is written: worker or map is NULL or of another
 *     context, text is NULL and room is not 0, or there is no rank owner
 *
 * Local: it measures nothing and never blocks. Handlers may call it. */
TERN_NODISCARD TERN_API tern_status tern_map_explain(const tern_worker *worker, const tern_map *map,
                                                     uint32_t owner, char *text, size_t room,
                                                     size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
