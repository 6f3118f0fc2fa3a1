#ifndef TERN_MAP_MODIFY_INSIDE_H
#define TERN_MAP_MODIFY_INSIDE_H

/* The parts of a modification, for requests. */

#include "map/call.h"

/* The arguments of a modification, and what came of it. */
typedef struct tern_map_modify_request {
    tern_worker *worker;
    const tern_map *map;
    const tern_map_key *key;
    uint32_t owner;
    const tern_map_modifier *modifier;
    const void *argument;
    size_t argument_bytes;
    tern_absent absent;
    tern_ptr old; /* [out] the block that was replaced; the caller gives it back */
    bool existed; /* [out] */
    size_t got;   /* [out] bytes of the result */
    uint64_t result[TERN_RESULT_MAX / 8];
} tern_map_modify_request;

static inline void tern_map_modify_begin(tern_worker *worker, const tern_map *map,
                                         const tern_map_key *key, const tern_map_modifier *modifier,
                                         const void *argument, size_t bytes, tern_absent absent,
                                         tern_map_modify_request *r) {
    r->worker = worker;
    r->map = map;
    r->key = key;
    r->owner = tern_hash_owner(map->table, key->hash);
    r->modifier = modifier;
    r->argument = argument;
    r->argument_bytes = bytes;
    r->absent = absent;
    r->old = TERN_NULL;
}

/* The calling worker runs the modifier; it finds and puts by call, or by RMA. */
tern_status tern_map_modify_here(tern_map_modify_request *r, bool by_call);

/* The owner runs the modifier in a handler. It tries once: TERN_ERR_AGAIN. [out] far: it does not
 * reach the block, and nothing was done. */
tern_status tern_map_modify_once(tern_map_modify_request *r, bool *far);

/* Whether a ring takes the message to the owner. */
bool tern_map_modify_fits(const tern_map *map, size_t key_bytes, size_t argument_bytes);
/* The owner runs the modifier: makes the call, and reads its answer. [out] far: the owner does not
 * reach the block, and nothing was done. */
tern_status tern_map_modify_send(const tern_map_modify_request *r, tern_map_call *call,
                                 bool starts);
tern_status tern_map_modify_end(tern_map_modify_request *r, const tern_map_call *call, bool *far);

/* count.c */
extern const tern_map_modifier *const tern_map_adding;

#endif
