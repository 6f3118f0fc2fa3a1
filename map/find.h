#ifndef TERN_MAP_FIND_H
#define TERN_MAP_FIND_H

/* The search for a key's value, which finds and modifications share. */

#include "map/block.h"

typedef struct tern_map_search {
    tern_worker *worker;
    const tern_map *map;
    const tern_map_key *key;
    uint32_t owner;
    tern_flags promise;
    bool by_call;
    bool near_only; /* a block that load/store does not reach is left to the caller */
    void *value;
    size_t room;
    bool allocates;  /* a value that finds no room gets memory */
    void *allocated; /* which is this, or NULL; the caller gives it to free */
    /* NULL, or what the first look would give: the caller has looked. */
    const tern_map_descriptor *known;
    bool is_far;           /* [out] near_only, and the block is far: the value was not read */
    bool is_other;         /* [out] not found, but another key with this one's fingerprint */
    tern_map_descriptor d; /* [out] that the value belongs to */
} tern_map_search;

/* A search by RMA in all phases, whose owner the caller fills in. */
static inline void tern_map_search_begin(tern_worker *worker, const tern_map *map,
                                         const tern_map_key *key, void *value, size_t room,
                                         bool allocates, tern_map_search *s) {
    s->worker = worker;
    s->map = map;
    s->key = key;
    s->owner = 0;
    s->promise = TERN_READ_WRITE;
    s->by_call = false;
    s->near_only = false;
    s->value = value;
    s->room = room;
    s->allocates = allocates;
    s->allocated = NULL;
    s->known = NULL;
    s->is_far = false;
    s->is_other = false;
}

/* Finds the value. [out] value_bytes. The statuses of tern_map_find, but TERN_ERR_NOT_FOUND and
 * TERN_ERR_FULL have no detail. */
tern_status tern_map_search_run(tern_map_search *s, size_t *value_bytes);

#endif
