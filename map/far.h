#ifndef TERN_MAP_FAR_H
#define TERN_MAP_FAR_H

/*
 * Flights: finds by RMA over a network that start and return. The table's find, which is a request
 * of the table (hashtable/op/pool.h), brings the descriptor. If the value lies in a block, a
 * get of the block follows, which the worker's progress starts. So the trips of several finds
 * overlap, and the wait finds the value here. A block that is not what its descriptor says has been
 * given back meanwhile, and the wait then does what a blocking find does.
 */

#include "map/find.h"
#include "tern/request.h"

/* Whether finds of keys of a rank's part fly. */
bool tern_map_find_flies(const tern_map *map, uint32_t owner);

/* Starts one. The key is copied. [out] request. TERN_ERR_AGAIN, TERN_ERR_MEMORY. */
tern_status tern_map_fly_find(tern_worker *worker, tern_map *map, const void *key, size_t key_bytes,
                              tern_flags promise, void *value, size_t room, tern_request *request);

/* request.c: ends any request of a map. room: of a find, else 0. Of a value that does not fit,
 * result is its size; 0: it is no number. */
tern_status tern_map_request_end(tern_request *request, tern_status outcome, uint64_t result,
                                 size_t room);
/* The text of its outcome. */
tern_status tern_map_request_explain(const tern_request *request);

#endif
