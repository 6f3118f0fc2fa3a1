#include "tern/map.h"

#include "map/block.h"

/* Walks over the keys of one part or of all parts: over the table's entries, with a look at the
 * block of each descriptor. */

typedef int map_visitor(const tern_map_item *item, void *argument);

typedef struct map_walk {
    tern_worker *worker;
    const tern_map *map;
    map_visitor *visit;
    void *argument;
    tern_status status;
    char *copy; /* copy of a key and value that cannot be read in place */
    size_t room;
} map_walk;

static char *map_visit_make_room(map_walk *w, size_t bytes) {
    if (bytes <= w->room)
        return w->copy;
    char *more = realloc(w->copy, 2 * bytes);
    if (more == NULL) {
        w->status = tern_fail(TERN_ERR_MEMORY, "no memory for a value of %zu bytes", bytes);
        return NULL;
    }
    w->copy = more;
    w->room = 2 * bytes;
    return more;
}

/* Copies key and value of a small descriptor apart, so that both are aligned. */
static const char *small_block(map_walk *w, const uint64_t *d) {
    const size_t key_bytes = tern_map_descriptor_key_bytes(d), at = tern_block_value_at(d);
    char *copy = map_visit_make_room(w, tern_block_bytes(d) + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, tern_map_descriptor_small(d), key_bytes);
    memcpy(copy + at, tern_map_descriptor_small(d) + key_bytes, tern_map_descriptor_value_bytes(d));
    return copy;
}

/* Nobody changes the map meanwhile, so a block that load/store reaches is read in place. */
static const char *large_block(map_walk *w, const uint64_t *d) {
    const size_t bytes = tern_block_bytes(d);
    const tern_ptr gaddr = tern_block_gaddr(d);
    const char *block = tern_internal_reach_address(w->worker, gaddr, bytes);
    if (block == NULL) {
        char *copy = map_visit_make_room(w, bytes);
        if (copy == NULL)
            return NULL;
        w->status = tern_get(w->worker, copy, gaddr, bytes);
        block = copy;
    }
    if (w->status == TERN_OK && !tern_block_is_whole(w->map, d, block))
        w->status = tern_fail(TERN_ERR_STATE,
                              "the map was changed while it was walked over, or the memory of a "
                              "value in rank %u's segment has been written over",
                              gaddr.rank);
    return w->status == TERN_OK ? block : NULL;
}

static int visit_one(const void *fingerprint, const void *value, void *argument) {
    map_walk *w = argument;
    const uint64_t *d = value;
    (void)fingerprint;
    const char *block =
        tern_map_descriptor_is_small(w->map, d) ? small_block(w, d) : large_block(w, d);
    if (block == NULL)
        return 1;
    const tern_map_item item = {.key = block,
                                .value = block + tern_block_value_at(d),
                                .key_bytes = tern_map_descriptor_key_bytes(d),
                                .value_bytes = tern_map_descriptor_value_bytes(d)};
    return w->visit(&item, w->argument);
}

static tern_status map_visit_check(const tern_map *map, bool missing, const char *name) {
    if (map == NULL || missing)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", name,
                         map == NULL ? "map" : "visit or count");
    return TERN_OK;
}

typedef tern_status walker(tern_worker *worker, tern_hashtable *table,
                           int (*visit)(const void *key, const void *value, void *argument),
                           void *argument);

static tern_status map_visit_run(tern_worker *worker, const tern_map *map, walker *walker_of_table,
                                 map_visitor *visit, void *argument) {
    map_walk w = {worker, map, visit, argument, TERN_OK, NULL, 0};
    tern_status status = walker_of_table(worker, map->table, visit_one, &w);
    free(w.copy);
    return status == TERN_OK ? w.status : status;
}

tern_status tern_map_for_each(tern_worker *worker, tern_map *map,
                              int (*visit)(const tern_map_item *item, void *argument),
                              void *argument) {
    tern_status status = map_visit_check(map, visit == NULL, "tern_map_for_each");
    return status == TERN_OK ? map_visit_run(worker, map, tern_hashtable_for_each, visit, argument)
                             : status;
}

tern_status tern_map_for_each_anywhere(tern_worker *worker, tern_map *map,
                                       int (*visit)(const tern_map_item *item, void *argument),
                                       void *argument) {
    tern_status status = map_visit_check(map, visit == NULL, "tern_map_for_each_anywhere");
    return status == TERN_OK
               ? map_visit_run(worker, map, tern_hashtable_for_each_anywhere, visit, argument)
               : status;
}

tern_status tern_map_local_size(tern_worker *worker, tern_map *map, uint64_t *count) {
    tern_status status = map_visit_check(map, count == NULL, "tern_map_local_size");
    return status == TERN_OK ? tern_hashtable_local_size(worker, map->table, count) : status;
}
