#ifndef TERN_MAP_REQUEST_H
#define TERN_MAP_REQUEST_H

/*
 * Operations on a map (tern/map.h) that start and return, with a request (tern/request.h). Each is
 * the blocking operation of the same name, and takes effect at some moment between its start and
 * its end. By call the call is the request. Calls of one worker on one key take effect in the order
 * of their starts. By RMA a find or an insert of a key that load/store does not reach goes on in
 * the progress of its worker, but an insert is done when its start returns where owners do not put
 * (tern/hashtable.h). Other operations by RMA are done when their start returns, and so is an add
 * to a key that fits no ring. Inserts of one key that are under way together by RMA take effect in
 * any order, as those of tables do. TERN_AUTO goes by RMA where load/store reaches the key's part
 * of the map, otherwise by call.
 *
 * Each request ends with tern_wait, tern_wait_all or tern_wait_any. tern_test tells when tern_wait
 * does not wait for the owner any more, but where a find's block was replaced meanwhile. The result
 * is there for certain when one of the waits has returned: they give the replaced block back, or
 * get a large value from where it lies.
 *
 * Requests of all ranks and workers have to be complete before tern_map_size, _clear and _destroy.
 */

#include "tern/map.h"
#include "tern/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Starts tern_map_find.
 *
 * @param worker the calling worker
 * @param map the map
 * @param key key_bytes bytes, which are copied; may be NULL if key_bytes is 0
 * @param key_bytes 0 to TERN_MAP_KEY_MAX
 * @param flags a promise and a way, or 0 (tern/flags.h)
 * @param[out] value room for room bytes, which belongs to tern until the request is complete; may
 *     be NULL if room is 0
 * @param room bytes
 * @param[out] request its tern_request_result is the size of the value
 * @return TERN_OK; TERN_ERR_AGAIN if the worker has as many calls under way as it can have
 *     (TERN_CALL_REQUESTS), or as many operations by RMA on this map (TERN_HASHTABLE_REQUESTS), or
 *     in a handler, if the value is being replaced; TERN_ERR_STATE in a handler, unless load/store
 *     reaches the key; TERN_ERR_MEMORY; others as tern_map_find. But that the key is absent
 *     (TERN_ERR_NOT_FOUND), or that its value has more than room bytes (TERN_ERR_RANGE), tern_wait
 *     tells, and TERN_ERR_PEER may be the outcome. Whatever is not TERN_OK: nothing was started,
 *     and the request is as it was
 *
 * May wait for a ring, with progress; for the outcome only where it is done at once. */
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

#ifdef __cplusplus
}
#endif

#endif
