#ifndef TERN_MAP_BUFFER_H
#define TERN_MAP_BUFFER_H

/*
 * Buffered inserts and adds for maps (tern/map.h): for programs that have keys one by one and can
 * do with their being in the map later. A buffer gathers them by owner and sends them as calls,
 * each when it is full; some are under way at once. What has been given to a buffer is in the map
 * for certain when tern_map_buffer_flush returns, and may be seen from the beginning on. Inserts of
 * one key through one buffer take effect in their order. If a program inserts a key and adds to it
 * through one buffer, it flushes in between. Keys of the caller's own part are done at once. A key
 * and a value that take more than 16 KiB together, or more than a ring takes at a time, have a call
 * of their own.
 *
 * A buffer belongs to the worker that made it, with the worker's thread rules, and must be
 * destroyed before the map. It uses up to 24 of the worker's TERN_CALL_REQUESTS. Its calls fit
 * phases of writes and of anything.
 *
 *     tern_map_buffer_create(worker, map, 0, &buffer);
 *     while (next_word(&word))
 *         tern_map_buffer_add(worker, buffer, word, strlen(word), 1);
 *     tern_map_buffer_destroy(worker, buffer, NULL);
 */

#include "tern/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer of one worker for one map. Its members are tern's own. */
typedef struct tern_map_buffer tern_map_buffer;

/* The most keys that are gathered for one owner. */
#define TERN_MAP_BUFFER_KEYS 512u

/** Creates a buffer.
 *
 * @param worker the calling worker
 * @param map the map
 * @param keys number of keys that are gathered for one owner before they are sent, 1 to
 *     TERN_MAP_BUFFER_KEYS, or fewer if 16 KiB or a ring take no more; 0 for as many as can be
 * @param[out] buffer the buffer, in this process's own memory, which grows with the owners that are
 *     used; the caller destroys it with tern_map_buffer_destroy
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_MEMORY
 *
 * Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_create(tern_worker *worker, tern_map *map,
                                                           size_t keys, tern_map_buffer **buffer);

/** Takes a value that is to be stored under a key, as tern_map_insert does. Both are copied.
 *
 * @param worker the calling worker
 * @param buffer the buffer
 * @param key key_bytes bytes; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param value value_bytes bytes; may be NULL if value_bytes is 0
 * @param value_bytes 0 to TERN_MAP_VALUE_MAX
 * @return TERN_OK: it has been taken, and the next flush tells if it is refused or fails.
 *     Otherwise it has not been taken: TERN_ERR_ARGUMENT; TERN_ERR_RANGE if key or value is too
 *     large; TERN_ERR_MEMORY; TERN_ERR_AGAIN if the program holds all TERN_CALL_REQUESTS;
 *     TERN_ERR_STATE in a handler; TERN_ERR_PEER and others of what was sent before, which the next
 *     flush tells of, too
 *
 * Blocking: sends what is full, and then may wait for the oldest answer, with progress. For a key
 * of the own rank as tern_map_insert. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_insert(tern_worker *worker,
                                                           tern_map_buffer *buffer, const void *key,
                                                           size_t key_bytes, const void *value,
                                                           size_t value_bytes);

/** Takes a number that is to be added to that of a key, as tern_map_add does.
 *
 * @param delta what is added; the value of a new key
 * @return as tern_map_buffer_insert. If the value has another size than 8 bytes, the next flush
 *     returns TERN_ERR_RANGE
 *
 * Blocking: as tern_map_buffer_insert. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_add(tern_worker *worker,
                                                        tern_map_buffer *buffer, const void *key,
                                                        size_t key_bytes, uint64_t delta);

/** Sends everything and waits until it has been done. It reports, once, what became of all that was
 * given since the last report.
 *
 * @param worker the calling worker
 * @param buffer the buffer
 * @param[out] refused number of keys that found no room, 0 if all did; may be NULL
 * @return TERN_OK if everything is in the map; TERN_ERR_FULL if some keys found no room, and the
 *     others are there; TERN_ERR_PEER, TERN_ERR_MEMORY and others as tern_map_insert and
 *     tern_map_add: the detail says of how many keys it is not certain that they are there, and
 *     those that are not will never be; TERN_ERR_STATE in a handler, and nothing is done;
 *     TERN_ERR_AGAIN if the program holds all TERN_CALL_REQUESTS: what could not be sent is kept,
 *     and the report is still to come
 *
 * Blocking: until all owners have answered. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_flush(tern_worker *worker,
                                                          tern_map_buffer *buffer,
                                                          uint64_t *refused);

/** Flushes, which the status and refused tell of, and frees the buffer whatever they are, except
 * upon TERN_ERR_ARGUMENT, TERN_ERR_AGAIN, and TERN_ERR_STATE in a handler. NULL is allowed.
 *
 * Blocking: as tern_map_buffer_flush. */
TERN_NODISCARD TERN_API tern_status tern_map_buffer_destroy(tern_worker *worker,
                                                            tern_map_buffer *buffer,
                                                            uint64_t *refused);

#ifdef __cplusplus
}
#endif

#endif
