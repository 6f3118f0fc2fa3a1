#ifndef TERN_HASHTABLE_REQUEST_H
#define TERN_HASHTABLE_REQUEST_H

/*
 * Operations on a hash table (tern/hashtable.h) that start and return, with a request
 * (tern/request.h). Each is the blocking operation of the same name and takes effect at some moment
 * between its start and its end; those of one worker in any order, also on one key. By call the
 * call is the request; by RMA it is a chain of gets, puts and atomics that do not block, on tables
 * whose keys move, too. Where load/store reaches the key the operation is done when its start
 * returns. Requests of all ranks and workers have to be complete before tern_hashtable_size,
 * _clear, _save and _destroy.
 *
 * The outcome, beside TERN_OK: TERN_ERR_NOT_FOUND; TERN_ERR_FULL; TERN_ERR_PEER: the owner, or the
 * rank that is writing the bucket, has died, and an insert or an add to the dead may or may not
 * have been done; other errors as of the blocking operation.
 *
 * Progress. What is under way by RMA goes on in the progress of the worker that started it: in
 * tern_progress and in every call of tern that waits, whatever for. A caller that makes none for a
 * while leaves its operations where they are, which delays them. Nobody else waits for the caller:
 * the owner does in one go what an insert or an add does to a bucket. One that meets a full part
 * goes on when the owner has made room, in its progress. Inserts and adds of other parts are done
 * when their start returns where owners do not put (tern/hashtable.h).
 *
 * TERN_AUTO takes the way that blocking operations take, or RMA before the first of them:
 * requests measure nothing and are not timed.
 */

#include "tern/hashtable.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many a worker may have under way by RMA on one table; by call up to
 * TERN_CALL_REQUESTS in all. */
#define TERN_HASHTABLE_REQUESTS 64u

/*
 * Start operations. Key, flags and errors as of the blocking ones. key is copied; a value
 * to insert has to stay as it is until the request is complete, and where a found one goes belongs
 * to tern until then (it is written if the key is there). TERN_ERR_AGAIN: as many as can be are
 * under way, wait for one; the bucket is being written, in a handler, where only what load/store
 * reaches may be started by RMA, all else is TERN_ERR_STATE. TERN_ERR_MEMORY: the first request of
 * a worker on a table allocates room for all. Whatever is not TERN_OK: nothing was started, and the
 * request is as it was. That the key is absent, or the table full, tern_wait tells. May wait for
 * a ring or a message buffer, with progress; never for the outcome, but where the operation is done
 * at once.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_find_start(tern_worker *worker,
                                                              tern_hashtable *table,
                                                              const void *key, tern_flags flags,
                                                              void *value, tern_request *request);
/* Its tern_request_result is 1 if the key was there, else 0; and so is that of the next. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_insert_start(tern_worker *worker,
                                                                tern_hashtable *table,
                                                                const void *key, const void *value,
                                                                tern_flags flags,
                                                                tern_request *request);
TERN_NODISCARD TERN_API tern_status
tern_hashtable_insert_new_start(tern_worker *worker, tern_hashtable *table, const void *key,
                                const void *value, tern_flags flags, tern_request *request);
/* Its result is the counter before. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_add_start(tern_worker *worker,
                                                             tern_hashtable *table, const void *key,
                                                             uint64_t delta, tern_flags flags,
                                                             tern_request *request);

#ifdef __cplusplus
}
#endif

#endif
