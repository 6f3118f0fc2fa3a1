#ifndef TERN_HASHTABLE_FAR_REQUESTS_H
#define TERN_HASHTABLE_FAR_REQUESTS_H

/*
 * Requests of a table that are flights (hashtable/far/flight.h): a pool for each worker, made when
 * it is first needed, of places that are used again. The worker's progress steps the flights and
 * notes the outcome of each in its request.
 *
 * A request, by the index of its word: how it is under way, or 0; when complete, its outcome and
 * result; the owner's rank; then, by call, the future, where a value goes and of how many bytes.
 */

#include "hashtable/far/flight.h"
#include "tern/hashtable_request.h"

enum {
    TERN_REQUEST_HOW,
    TERN_REQUEST_OUTCOME,
    TERN_REQUEST_RESULT,
    TERN_REQUEST_OWNER,
    TERN_REQUEST_FUTURE,
    TERN_REQUEST_TAKEN = TERN_REQUEST_FUTURE + 2,
    TERN_REQUEST_BYTES
};
enum { TERN_REQUEST_COMPLETE, TERN_REQUEST_FLIES, TERN_REQUEST_CALLS };

static inline void tern_request_done(tern_hashtable_request *request, tern_status outcome,
                                     uint64_t result) {
    request->state[TERN_REQUEST_OUTCOME] = (uint64_t)outcome;
    request->state[TERN_REQUEST_RESULT] = result;
    request->state[TERN_REQUEST_HOW] = TERN_REQUEST_COMPLETE;
}

/* Starts a flight. TERN_ERR_AGAIN: the pool is used up; TERN_ERR_MEMORY. */
tern_status tern_requests_fly(tern_worker *worker, tern_hashtable *table, const void *key,
                              uint64_t hash, const tern_flight_plan *plan,
                              tern_hashtable_request *request);

/* Of a table that is to be destroyed: ends what the worker has under way, with progress. */
void tern_requests_drain(tern_worker *worker, tern_hashtable *table);
/* Frees the pools of all workers, unless MPI may still write to them. */
void tern_requests_free(tern_hashtable *table);

#endif
