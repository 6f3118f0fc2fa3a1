#include "map/block.h"

#include "hashtable/operations.h"
#include "hashtable/near/lock.h"

/* Sees the descriptor that is replaced or erased: checks that it belongs to the key, and keeps the
 * address of its block. */
typedef struct heir {
    tern_replace_hook hook;
    const tern_map *map;
    const tern_map_key *key;
    tern_ptr old;
} heir;

static tern_status map_operation_see(tern_replace_hook *hook, const uint64_t *d) {
    heir *h = (heir *)(void *)hook;
    if (!tern_map_descriptor_is_of(h->map, d, h->key))
        return TERN_ERR_EXISTS;
    if (!tern_map_descriptor_is_small(h->map, d))
        h->old = tern_block_place(d);
    return TERN_OK;
}

static heir heir_of(const tern_map *map, const tern_map_key *key) {
    return (heir){{map_operation_see}, map, key, TERN_NULL};
}

/* Checks that the entry that an insert_new has found belongs to its key. If the entry is erased
 * meanwhile, the erase is ordered after the insert. */
static tern_status check_met(tern_worker *worker, const tern_map *map, const tern_map_key *key) {
    tern_map_descriptor d;
    tern_status status = tern_map_look(worker, map, key, TERN_READ_WRITE, &d);
    if (status == TERN_OK && !tern_map_descriptor_is_of(map, d.words, key))
        return TERN_ERR_EXISTS;
    return status == TERN_ERR_NOT_FOUND ? TERN_OK : status;
}

tern_status tern_map_put(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                         const tern_map_descriptor *d, bool only_new, tern_flags promise,
                         bool *existed, tern_ptr *old) {
    heir h = heir_of(map, key);
    tern_status status = tern_operation_exchange(worker, map->table, key->fingerprint, key->hash, d,
                                                 only_new, promise, &h.hook, existed);
    if (status == TERN_OK && only_new && *existed)
        status = check_met(worker, map, key);
    if (status == TERN_ERR_EXISTS)
        return tern_fail(TERN_ERR_EXISTS,
                         "another key has the same fingerprint as this one of %zu bytes, and a map "
                         "cannot hold both; one that is created anew has other fingerprints",
                         key->size);
    if (status == TERN_OK)
        *old = h.old;
    return status;
}

tern_status tern_map_remove(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            tern_ptr *old) {
    heir h = heir_of(map, key);
    tern_status status =
        tern_operation_remove(worker, map->table, key->fingerprint, key->hash, &h.hook);
    if (status == TERN_OK)
        *old = h.old;
    return status == TERN_ERR_EXISTS ? TERN_ERR_NOT_FOUND : status;
}

tern_status tern_map_look(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                          tern_flags promise, tern_map_descriptor *d) {
    return tern_operation_find(worker, map->table, key->fingerprint, key->hash, promise, d->words);
}
