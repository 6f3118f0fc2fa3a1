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
 * A map that grows moves descriptors and no blocks: a key's block stays where it is.
 *
 * Flags, batches, buffers, requests, modifiers and files are as tern/container.h says; phases,
 * linearizability, TERN_ERR_PEER and TERN_ERR_AGAIN as in tern/hashtable.h. All functions take
 *
 *     worker              the calling worker
 *     map                 the map
 *     key, key_bytes      a key of 0 to TERN_MAP_KEY_MAX bytes, where NULL is allowed for 0 bytes
 *     value, value_bytes  a value of 0 to TERN_MAP_VALUE_MAX bytes, likewise
 *     flags               a promise and a path, or 0
 *
 * and their comments describe only the other parameters. With TERN_AUTO, blocking finds, inserts
 * and erasures take the path that tern_map_explain tells. All other operations go by RMA where
 * load/store reaches the key's part of the map, otherwise by call.
 *
 * A find returns a complete value that was inserted, or none: the table holds a hash of key and
 * value for each block, so the find notices a block that was given back and used again meanwhile,
 * and looks again. TERN_ERR_PEER is returned for a value in the segment of a rank that died, unless
 * load/store still reaches it.
 *
 * In handlers the rules of tern/hashtable.h hold. In addition, a handler may find a value that lies
 * in a block of another rank, but to replace, modify or erase it returns TERN_ERR_STATE.
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
 */

#include "tern/hashtable.h"

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
     * its rank]. The key is at the address that the operation was given. Operations call it at the
     * rank that uses the key, not at the owner. key_argument: passed to it. Both must last as long
     * as the map. */
    uint64_t (*key_owner)(const void *key, size_t key_bytes, void *key_argument);
    /* Says which keys are the same: keys for which it writes the same 128 bits are one key,
     * whatever their bytes and lengths [keys of the same bytes]. It replaces hash and equality,
     * since 128 bits of a good hash do not collide by chance. Use XXH3_128bits of a form in which
     * such keys have the same bytes, such as words in lower case. The map keeps the bytes that were
     * inserted last. Handlers at the owner call it too. Otherwise the rules of key_owner apply, and
     * keys that are the same must have the same owner. */
    void (*key_digest)(const void *key, size_t key_bytes, uint64_t digest[2], void *key_argument);
    void *key_argument;
} tern_map_options;

/** Creates a map. Calls to a rank's part go to the worker that creates it, or to the rank's service
 * threads if there are any (tern/context.h).
 *
 * @param options the same on every rank
 * @param[out] map the map; the caller destroys it with tern_map_destroy
 * @return the statuses of tern_hashtable_create
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_create(tern_worker *worker,
                                                    const tern_map_options *options,
                                                    tern_map **map);
/** Frees the map and all its memory. NULL is allowed. Every operation must have returned on every
 * rank. Completes the calls that are under way as tern_quiesce does: other threads make progress
 * for their workers meanwhile, because these may still have to tell an owner of a block that they
 * gave back.
 *
 * @return TERN_OK; TERN_ERR_PEER if a rank died, and then the map is gone all the same, but the
 *     blocks of this rank that other ranks' parts name stay allocated; TERN_ERR_MISMATCH if the
 *     other ranks are in another collective function, and TERN_ERR_ARGUMENT or TERN_ERR_STATE in a
 *     handler: the map stays as it was
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_destroy(tern_worker *worker, tern_map *map);

/** Stores a copy of a value under a key, and replaces the value if the key is there already.
 *
 * @param[out] existed 1 if the key was there, else 0; may be NULL
 * @return TERN_OK; TERN_ERR_MEMORY if the segment of the block has no room for it
 *     (TERN_SEGMENT_SIZE); TERN_ERR_RANGE if key or value is too large; TERN_ERR_EXISTS if another
 *     key has the same fingerprint, which is 160 bits of a hash with a random seed for every map;
 *     TERN_ERR_FULL, TERN_ERR_UNSUPPORTED and TERN_ERR_ARGUMENT as tern_hashtable_insert;
 *     TERN_ERR_SYSTEM if the owner's reply is not valid; TERN_ERR_STATE in a
 *     handler, if it may wait; TERN_ERR_AGAIN; TERN_ERR_PEER
 *
 * On an error the map is unchanged, but after TERN_ERR_PEER, TERN_ERR_NETWORK, TERN_ERR_MPI and
 * TERN_ERR_SYSTEM the owner's part may hold the value. So its block stays allocated then.
 *
 * Blocking: until the key's bucket is available; by call, until the owner answers. */
TERN_NODISCARD TERN_API tern_status tern_map_insert(tern_worker *worker, tern_map *map,
                                                    const void *key, size_t key_bytes,
                                                    const void *value, size_t value_bytes,
                                                    tern_flags flags, int *existed);

/** Stores a value as tern_map_insert does, but only if the key is not there.
 *
 * @param[out] existed 1 if the key was there and nothing was stored, else 0; may be NULL */
TERN_NODISCARD TERN_API tern_status tern_map_insert_new(tern_worker *worker, tern_map *map,
                                                        const void *key, size_t key_bytes,
                                                        const void *value, size_t value_bytes,
                                                        tern_flags flags, int *existed);

/** Removes a key and its value from the map.
 *
 * @return TERN_OK; TERN_ERR_NOT_FOUND if there is no such key; TERN_ERR_RANGE if the key is larger
 *     than TERN_MAP_KEY_MAX; otherwise the statuses and the blocking of tern_map_insert */
TERN_NODISCARD TERN_API tern_status tern_map_erase(tern_worker *worker, tern_map *map,
                                                   const void *key, size_t key_bytes,
                                                   tern_flags flags);

/** Adds to the number that is the value of a key, and inserts the key if it is not there. The
 * number is a uint64_t, the bytes of which are the value. It wraps around.
 *
 * @param delta what is added; the value of a new key
 * @param[out] before the number before; 0 if the key was not there; may be NULL
 * @return TERN_OK; TERN_ERR_RANGE if the value has another size than 8 bytes, and then it stays;
 *     otherwise the statuses and the blocking of tern_map_insert
 *
 * It costs what tern_map_modify costs. */
TERN_NODISCARD TERN_API tern_status tern_map_add(tern_worker *worker, tern_map *map,
                                                 const void *key, size_t key_bytes, uint64_t delta,
                                                 tern_flags flags, uint64_t *before);

/** Sets the number that is the value of a key to desired if it equals expected.
 *
 * @param expected the number that is replaced
 * @param desired the number that takes its place
 * @param[out] before the number before; it was changed if this equals expected; may be NULL
 * @return TERN_OK; TERN_ERR_NOT_FOUND if there is no such key; otherwise the statuses and
 *     the blocking of tern_map_add */
TERN_NODISCARD TERN_API tern_status tern_map_compare_swap(tern_worker *worker, tern_map *map,
                                                          const void *key, size_t key_bytes,
                                                          uint64_t expected, uint64_t desired,
                                                          tern_flags flags, uint64_t *before);

/** Copies the value of a key.
 *
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

/** Visits the keys of all ranks as tern_map_for_each does. Not collective: one rank may call it. */
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

/** Explains which path this worker's operations by TERN_AUTO take on the part of a rank, and why:
 * finds; inserts and erasures; and under the word modify all others, requests and batches too.
 * Parameters, text and statuses are those of tern_hashtable_explain. Local: it measures nothing and
 * never blocks. Handlers may call it. */
TERN_NODISCARD TERN_API tern_status tern_map_explain(const tern_worker *worker, const tern_map *map,
                                                     uint32_t owner, char *text, size_t room,
                                                     size_t *bytes);

/** Stores the values of count items under their keys, as tern_map_insert does.
 *
 * By call up to 512 keys of one owner go in one message of at most 16 KiB, or of what a ring takes
 * at a time; an item takes 32 bytes beside its key and value. An answer to finds has up to 16 KiB;
 * if the values of a message have more, the rest of the keys are sent again. A key and a value that
 * fit no message have a call of their own, up to 8 of which are under way; finds of keys that fit
 * no message, or of values that fit no answer, come one by one at the end. A batch uses up to 40 of
 * the worker's calls (TERN_CALL_REQUESTS), and fewer if the program holds some. By RMA the keys are
 * done one after the other, which is fastest where load/store reaches them.
 *
 * @param items keys and values, which need no alignment here; may be NULL if count is 0
 * @param count number of items
 * @param[out] done number of items that are stored for certain, whatever the status, once the
 *     arguments have been checked; may be NULL
 * @return TERN_OK; TERN_ERR_FULL if some keys found no room, and the others are stored;
 *     TERN_ERR_RANGE if a key or a value is too large; TERN_ERR_AGAIN if the program holds all
 *     calls, and then some of the keys may be done; otherwise the statuses and the
 *     blocking of tern_map_insert, of an item that failed, and then others may not be stored */
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
 * @param slots keys and rooms, which may not overlap; may be NULL if count is 0
 * @param count number of slots
 * @param[out] done number of keys that are there; may be NULL
 * @return TERN_OK; TERN_ERR_RANGE if a value has more bytes than its room: its slot says how many,
 *     and the other values are there; otherwise the statuses and the blocking of tern_map_find,
 *     of a key that failed, and then what was written to the slots is not defined */
TERN_NODISCARD TERN_API tern_status tern_map_find_many(tern_worker *worker, tern_map *map,
                                                       tern_map_slot *slots, size_t count,
                                                       tern_flags flags, size_t *done);

/* A buffer of one worker for one map (tern/container.h). Its members are tern's own. Keys of the
 * caller's own part are done at once. A key and a value that take more than 16 KiB together, or
 * more than a ring takes at a time, have a call of their own. A program that inserts a key and adds
 * to it through one buffer must flush in between. A buffer uses up to 24 of the worker's
 * TERN_CALL_REQUESTS.
 *
 *     tern_map_buffer_create(worker, map, 0, &buffer);
 *     while (next_word(&word))
 *         tern_map_buffer_add(worker, buffer, word, strlen(word), 1);
 *     tern_map_buffer_destroy(worker, buffer, NULL);
 */
typedef struct tern_map_buffer tern_map_buffer;

/* The most keys that are gathered for one owner. */
#define TERN_MAP_BUFFER_KEYS 512u

/** Creates a buffer.
 *
 * @param keys number of keys that are gathered for one owner before they are sent, 1 to
 *     TERN_MAP_BUFFER_KEYS, or fewer if 16 KiB or a ring take no more; 0 for as many as can be
 * @param[out] buffer the buffer, in this process's own memory, which grows with the owners that are
 *     used; the caller destroys it with tern_map_buffer_destroy
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_MEMORY
 *
 * Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_create(tern_worker *worker, tern_map *map,
                                                           size_t keys, tern_map_buffer **buffer);

/** Takes a value to store under a key, as tern_map_insert does. Both are copied.
 *
 * @return TERN_OK: the buffer has taken the value, and the next flush reports if it fails.
 *     Otherwise the buffer has not: TERN_ERR_ARGUMENT; TERN_ERR_RANGE if key or value is too large;
 *     TERN_ERR_MEMORY; TERN_ERR_AGAIN if the program holds all TERN_CALL_REQUESTS; TERN_ERR_STATE
 *     in a handler; TERN_ERR_PEER and others: an earlier message failed, which the next flush
 *     reports, too
 *
 * Blocking: sends what is full, and then may wait for the oldest answer, with progress. For a key
 * of the own rank it blocks as tern_map_insert does. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_insert(tern_worker *worker,
                                                           tern_map_buffer *buffer, const void *key,
                                                           size_t key_bytes, const void *value,
                                                           size_t value_bytes);

/** Takes a number that is to be added to that of a key, as tern_map_add does.
 *
 * @param delta what is added; the value of a new key
 * @return statuses and blocking of tern_map_buffer_insert. If the value has another size than 8
 *     bytes, the next flush returns TERN_ERR_RANGE */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_add(tern_worker *worker,
                                                        tern_map_buffer *buffer, const void *key,
                                                        size_t key_bytes, uint64_t delta);

/** Sends all keys of the buffer and waits until their owners have handled them. Reports, once, what
 * became of all keys that were given since the last report.
 *
 * @param[out] refused number of keys that found no room, 0 if all did; may be NULL
 * @return TERN_OK if everything is in the map; otherwise the statuses of
 *     tern_hashtable_buffer_flush, and those of tern_map_insert and tern_map_add
 *
 * Blocking: until all owners have answered. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_flush(tern_worker *worker,
                                                          tern_map_buffer *buffer,
                                                          uint64_t *refused);

/** Flushes, with the status, refused and blocking of tern_map_buffer_flush, and frees the buffer,
 * except after TERN_ERR_ARGUMENT, TERN_ERR_AGAIN, and TERN_ERR_STATE in a handler. NULL is allowed.
 */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_destroy(tern_worker *worker,
                                                            tern_map_buffer *buffer,
                                                            uint64_t *refused);

/* The largest result of a modifier, in bytes. */
#define TERN_MAP_MODIFY_RESULT_MAX (TERN_RESULT_MAX - 24u)

/* What a modifier may ask and change, valid while it runs. */
typedef struct tern_map_modify_info {
    tern_worker *worker;   /* the worker that runs it */
    tern_worker_id origin; /* the worker that modifies */
    const void *key;       /* key_bytes; its alignment is that of the caller's key, or 8 bytes */
    size_t key_bytes;
    void *value;          /* a copy of the value, 8-byte aligned, which the modifier changes */
    size_t value_bytes;   /* 0 if the key is not there; tern_map_resize changes it */
    const void *argument; /* the caller's, or a copy of it that is 8-byte aligned */
    size_t argument_bytes;
    int existed;         /* whether the key is there */
    void *result;        /* room of TERN_MAP_MODIFY_RESULT_MAX bytes, 8-byte aligned */
    size_t result_bytes; /* set by the modifier; 0 at entry */
    void *user;          /* of the modifier in the process that runs it */
} tern_map_modify_info;

/* Changes info->value. tern/container.h says what its status means and what it may do. It runs
 * where handlers run, or in the calling worker. No lock is held meanwhile: it works on a copy of
 * the value, which takes the value's place only if the key still has that value. If another
 * operation has changed the key meanwhile, the function runs again, on the new value. Each
 * repetition means that another operation has succeeded.
 *
 *     by RMA    the caller runs the modifier: a find and an insert of a key that is there; for a
 *               new key a find and an insert_new
 *     by call   the owner runs the modifier: one round trip. Where the owner does not reach the
 *               value's block by load and store, or key and argument do not fit a ring, the caller
 *               runs it: a find and an insert by call more
 */
typedef tern_status (*tern_map_modify_function)(tern_map_modify_info *info);

/** Changes the size of the value that a modifier works on. The bytes up to the smaller size stay,
 * new ones are zeros, and info->value may be another address.
 *
 * @param info what the modifier has been given
 * @param bytes the new size, 0 to TERN_MAP_VALUE_MAX
 * @return TERN_OK; TERN_ERR_RANGE if bytes is too large; TERN_ERR_MEMORY: the value is as before
 *
 * Local, never blocks. Only modifiers call it. */
TERN_NODISCARD TERN_API tern_status tern_map_resize(tern_map_modify_info *info, size_t bytes);

/* A registered modifier; made by TERN_MAP_MODIFIER or TERN_MAP_MODIFIER_ANY_THREAD. */
typedef struct tern_map_modifier {
    tern_map_modify_function function;
    tern_function *call;
    int any_thread; /* 1: it may run in a service thread too, else 0 */
} tern_map_modifier;

/* At file scope: registers a tern_map_modify_function under its own name, and declares
 * name_modifier.
 */
#define TERN_MAP_MODIFIER(name) TERN_INTERNAL_MAP_MODIFIER(name, 0)

/* TERN_MAP_MODIFIER for a function that any threads may run at the same time. */
#define TERN_MAP_MODIFIER_ANY_THREAD(name) TERN_INTERNAL_MAP_MODIFIER(name, 1)

/* Not for applications: what both do. */
#define TERN_INTERNAL_MAP_MODIFIER(name, any_thread)                                               \
    static tern_status name##_by_call(tern_call_info *call, const void *message, size_t bytes) {   \
        return tern_internal_map_run_modifier(call, message, bytes, name);                         \
    }                                                                                              \
    TERN_FUNCTION(name##_by_call)                                                                  \
    static const tern_map_modifier name##_modifier = {name, &name##_by_call_function, any_thread};

/** Runs a modifier on the value of a key.
 *
 * @param modifier the modifier
 * @param options the modifier's argument and result, and what becomes of an absent key
 *     (tern/container.h); NULL: all zero. With TERN_ABSENT_INSERT the modifier of an absent key
 *     begins with a value of 0 bytes, and the key is inserted
 * @param[out] existed 1 if the key was there, else 0; may be NULL
 * @return TERN_OK; what the modifier returned; TERN_ERR_NOT_FOUND; TERN_ERR_RANGE if the result
 *     does not fit its capacity, and then the value has been modified, or if the modifier gave a
 * result of more than TERN_MAP_MODIFY_RESULT_MAX bytes, and then it has not; otherwise the statuses
 * of tern_map_find and tern_map_insert, and the blocking of the latter */
TERN_NODISCARD TERN_API tern_status tern_map_modify(tern_worker *worker, tern_map *map,
                                                    const void *key, size_t key_bytes,
                                                    const tern_map_modifier *modifier,
                                                    const tern_modify_options *options,
                                                    tern_flags flags, int *existed);

/* Not for applications: what TERN_MAP_MODIFIER registers. */
TERN_NODISCARD TERN_API tern_status tern_internal_map_run_modifier(
    tern_call_info *call, const void *message, size_t bytes, tern_map_modify_function function);

/** Starts tern_map_find. The key is copied.
 *
 * By RMA the worker's progress continues a find or an insert of a key that load/store does not
 * reach; but where owners do not put, an insert is done when its start returns. Other operations by
 * RMA are done when their start returns, and so is an add to a key that fits no ring. Calls of one
 * worker on one key take effect in the order of their starts. When tern_test gives done 1,
 * tern_wait does not wait for the owner, unless a find's block was replaced meanwhile. The result
 * has arrived only when tern_wait, tern_wait_all or tern_wait_any returns: they give the replaced
 * block back, or get a large value.
 *
 * @param[out] value room for room bytes, which belongs to tern until the request is complete; may
 *     be NULL if room is 0
 * @param room bytes
 * @param[out] request its tern_request_result is the size of the value
 * @return TERN_OK; TERN_ERR_AGAIN if the worker has as many calls under way as it can have
 *     (TERN_CALL_REQUESTS), or as many operations by RMA on this map (TERN_HASHTABLE_REQUESTS), or
 *     in a handler, if the value is being replaced; TERN_ERR_STATE in a handler, unless load/store
 *     reaches the key; TERN_ERR_MEMORY; others as tern_map_find. tern_wait returns
 *     TERN_ERR_NOT_FOUND if the key is absent, TERN_ERR_RANGE if its value has more than room
 *     bytes, and perhaps TERN_ERR_PEER. If the start does not return TERN_OK nothing was started,
 *     and the request is as it was
 *
 * May wait for a ring, with progress. It waits for the outcome only where it does the operation at
 * once. */
TERN_NODISCARD TERN_API tern_status tern_map_find_start(tern_worker *worker, tern_map *map,
                                                        const void *key, size_t key_bytes,
                                                        tern_flags flags, void *value, size_t room,
                                                        tern_request *request);

/** Starts tern_map_insert. Key and value are copied.
 *
 * @param[out] request its tern_request_result is 1 if the key was there, else 0
 * @return as tern_map_find_start and tern_map_insert; TERN_ERR_FULL and TERN_ERR_EXISTS may be the
 *     outcome */
TERN_NODISCARD TERN_API tern_status tern_map_insert_start(tern_worker *worker, tern_map *map,
                                                          const void *key, size_t key_bytes,
                                                          const void *value, size_t value_bytes,
                                                          tern_flags flags, tern_request *request);

/** Starts tern_map_insert_new; otherwise as tern_map_insert_start. */
TERN_NODISCARD TERN_API tern_status tern_map_insert_new_start(tern_worker *worker, tern_map *map,
                                                              const void *key, size_t key_bytes,
                                                              const void *value, size_t value_bytes,
                                                              tern_flags flags,
                                                              tern_request *request);

/** Starts tern_map_add; otherwise as tern_map_insert_start.
 *
 * @param[out] request its tern_request_result is the number before */
TERN_NODISCARD TERN_API tern_status tern_map_add_start(tern_worker *worker, tern_map *map,
                                                       const void *key, size_t key_bytes,
                                                       uint64_t delta, tern_flags flags,
                                                       tern_request *request);

/* What a file says about the map in it. */
typedef struct tern_map_file {
    uint64_t keys;
    uint64_t key_bytes, value_bytes; /* of all keys together, and of all values */
    size_t note_bytes;
    unsigned char note[TERN_NOTE_MAX + 1]; /* zeros follow the note, so text ends with a zero */
} tern_map_file;

/** Saves a map in a file. A file that is there already is replaced, and stays as it was until the
 * new one is whole, as with tern_hashtable_save. No rank may change the map meanwhile. Each rank
 * writes the keys that it owns; it needs memory for one section of the file (256 KiB), and for two
 * copies of a value that lies on another node.
 *
 * @return the statuses of tern_hashtable_save, which has the same parameters, and of
 *     tern_map_for_each
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_save(tern_worker *worker, tern_map *map,
                                                  const char *path, const void *note,
                                                  size_t note_bytes);

/** Creates a map that holds what a file holds. Its keys are inserted as by TERN_AUTO, each by one
 * of the ranks. Calls go to this worker as after tern_map_create. A rank needs memory for one
 * section of the file (256 KiB) and for the largest key with its value.
 *
 * @param path the same on every rank
 * @param options the same on every rank; may be NULL. None of them is in the file. The capacity is
 *     raised to the number of keys in the file
 * @param[out] file what the file that was loaded says; may be NULL
 * @param[out] map the map; the caller destroys it with tern_map_destroy
 * @return the statuses of tern_hashtable_load about the file, and those of tern_map_create and
 *     tern_map_insert; TERN_ERR_ARGUMENT also if the file holds a table. After an error there is no
 *     map; after TERN_ERR_PEER other ranks may have one
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_load(tern_worker *worker, const char *path,
                                                  const tern_map_options *options,
                                                  tern_map_file *file, tern_map **map);

/** Reads the description of the map in a file, but not the map. A program can choose
 * tern_config.segment_size by it before it creates its context. It checks the header and the file's
 * size, not the keys. It needs no context and no MPI; any thread and any handler may call it.
 *
 * @return the statuses of tern_hashtable_file_read; TERN_ERR_ARGUMENT also if it holds a table
 *
 * Blocking: reads a file, without progress. */
TERN_NODISCARD TERN_API tern_status tern_map_file_read(const char *path, tern_map_file *file);

#ifdef __cplusplus
}
#endif

#endif
