#ifndef TERN_HASHTABLE_FAR_REQUESTS_H
#define TERN_HASHTABLE_FAR_REQUESTS_H

/*
 * Requests of a table that are flights (hashtable/far/flight.h): a pool for each worker, made when
 * it is first needed, of places that are used again. The worker's progress steps the flights and
 * ends the request of each.
 */

#include "hashtable/far/flight.h"
#include "src/progress/request.h"
#include "tern/hashtable_request.h"

/* Of operations that are flights, or were done at once; of those by call. */
extern const tern_request_kind tern_flight_request, tern_table_call_request;

/* Starts a flight to owner. TERN_ERR_AGAIN: the pool is used up; TERN_ERR_MEMORY. */
tern_status tern_requests_fly(tern_worker *worker, tern_hashtable *table, const void *key,
                              uint64_t hash, const tern_flight_plan *plan, uint32_t owner,
                              tern_request *request);

/* Whether a worker, which does nothing else meanwhile, has flights that may touch an array of the
 * owner that is older than generation. */
bool tern_requests_hold(const tern_hashtable *table, uint32_t worker, uint32_t owner,
                        uint64_t generation);

/* Of a table that is to be destroyed: ends what the worker has under way, with progress. */
void tern_requests_drain(tern_worker *worker, tern_hashtable *table);
/* Frees the pools of all workers, unless MPI may still write to them. */
void tern_requests_free(tern_hashtable *table);

#endif
