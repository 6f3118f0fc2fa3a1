#ifndef TERN_HASHTABLE_BUFFER_H
#define TERN_HASHTABLE_BUFFER_H

/*
 * Buffered inserts and adds: for programs that have keys one by one and can do with their being in
 * the table later. A buffer gathers them by owner and sends them as calls, each when it is full;
 * some are under way at once. What has been given to a buffer is in the table for certain when
 * tern_hashtable_buffer_flush returns, and may be seen from the beginning on. Inserts of one key
 * through one buffer take effect in their order. Keys of the caller's own part are gathered too and
 * done in place.
 *
 * A buffer belongs to the worker that made it, with the worker's thread rules, and must be
 * destroyed before the table. It uses up to 16 of the worker's TERN_CALL_REQUESTS. Its calls fit
 * phases of writes and of anything.
 */

#include "tern/hashtable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer of one worker for one table. Its members are tern's own. */
typedef struct tern_hashtable_buffer tern_hashtable_buffer;

/* The most keys that are gathered for one owner. */
#define TERN_BUFFER_KEYS 512u

/* keys: gathered for one owner before they are sent, 1 to TERN_BUFFER_KEYS, or less if no message
 * takes so many; 0: as many as can be. [out] buffer: in this process's own memory, which grows with
 * the owners that are used. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; TERN_ERR_UNSUPPORTED: key and value
 * are too large for a call. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_create(tern_worker *worker,
                                                                 tern_hashtable *table, size_t keys,
                                                                 tern_hashtable_buffer **buffer);

/* Takes a key with its value (which may be NULL where value_bytes is 0), or with what is to be
 * added to its counter; both are copied. Sends what is full, and then may wait for the oldest
 * reply, with progress. What is refused or fails there is told by the next flush. On an error the
 * key has not been taken: TERN_ERR_ARGUMENT; TERN_ERR_UNSUPPORTED: the table has counters, has
 * values; TERN_ERR_MEMORY; TERN_ERR_AGAIN: the program holds all TERN_CALL_REQUESTS; TERN_ERR_PEER
 * and others: of what was sent before, which the next flush tells of too; TERN_ERR_STATE in a
 * handler.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_insert(tern_worker *worker,
                                                                 tern_hashtable_buffer *buffer,
                                                                 const void *key,
                                                                 const void *value);
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_add(tern_worker *worker,
                                                              tern_hashtable_buffer *buffer,
                                                              const void *key, uint64_t delta);

/* Sends everything and waits until it has been done. Reports, once, what became of all that was
 * given since the last report. TERN_OK: it is in the table. TERN_ERR_FULL: [out] refused (may be
 * NULL; also set to 0 where nothing was): so many found no room, the others are there.
 * TERN_ERR_PEER and others: the detail says of how many it is not known whether they are there;
 * those that are not will never be. TERN_ERR_STATE in a handler: nothing is done. TERN_ERR_AGAIN:
 * the program holds all TERN_CALL_REQUESTS; what could not be sent is kept, and the report is still
 * to come. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_flush(tern_worker *worker,
                                                                tern_hashtable_buffer *buffer,
                                                                uint64_t *refused);

/* Flushes, which the status and refused tell of, and frees the buffer whatever they are, but for
 * TERN_ERR_ARGUMENT, TERN_ERR_AGAIN and TERN_ERR_STATE, in a handler. NULL is fine. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_buffer_destroy(tern_worker *worker,
                                                                  tern_hashtable_buffer *buffer,
                                                                  uint64_t *refused);

#ifdef __cplusplus
}
#endif

#endif
