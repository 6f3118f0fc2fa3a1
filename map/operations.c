#include "map/block.h"

#include "hashtable/operations.h"
#include "hashtable/near/lock.h"

/* Sees the descriptor that is replaced or erased: checks that it belongs to the key and is the one
 * that is expected, and keeps the address of its block. */
typedef struct heir {
    tern_replace_hook hook;
    const tern_map *map;
    const tern_map_key *key;
    const tern_map_descriptor *expected; /* NULL: any */
    bool own_only;
    bool differs; /* from what is expected */
    tern_ptr old;
} heir;

static tern_status map_operation_see(tern_replace_hook *hook, const uint64_t *d) {
    heir *h = (heir *)(void *)hook;
    h->old = TERN_NULL;
    if (d == NULL)
        return TERN_OK;
    h->differs = h->expected != NULL &&
                 memcmp(d, h->expected->words, 8 * tern_map_descriptor_words(h->map)) != 0;
    if (h->differs || !tern_map_descriptor_is_of(h->map, d, h->key))
        return TERN_ERR_EXISTS;
    if (tern_map_descriptor_is_small(h->map, d))
        return TERN_OK;
    h->old = tern_block_place(d);
    if (h->own_only && h->old.rank != h->map->context->rank)
        return tern_fail(TERN_ERR_STATE,
                         "the value lies in rank %u's segment, and a handler gives back values of "
                         "its own rank alone; insert it by call, so that it lies at its owner",
                         h->old.rank);
    return TERN_OK;
}

static heir heir_of(const tern_map *map, const tern_map_key *key,
                    const tern_map_descriptor *expected, bool own_only) {
    return (heir){{map_operation_see}, map, key, expected, own_only, false, TERN_NULL};
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

tern_status tern_map_fingerprints_meet(const tern_map_key *key) {
    return tern_fail(TERN_ERR_EXISTS,
                     "another key has the same fingerprint as this one of %zu bytes, and a map "
                     "cannot hold both; one that is created anew has other fingerprints",
                     key->size);
}

tern_status tern_map_put(tern_worker *worker, const tern_map *map, tern_map_insertion *in) {
    heir h = heir_of(map, in->key, in->expected, in->own_only);
    const uint64_t *print = in->key->fingerprint;
    tern_status status;
    if (in->expected == NULL) {
        status = tern_operation_exchange(worker, map->table, print, in->key->hash, &in->d,
                                         in->only_new, in->promise, &h.hook, &in->existed);
    } else {
        status = tern_operation_change(worker, map->table, print, in->key->hash, &in->d, &h.hook);
        in->existed = status == TERN_OK;
    }
    if (status == TERN_ERR_EXISTS && h.differs)
        return TERN_OK;
    if (status == TERN_OK && in->only_new && in->existed)
        status = check_met(worker, map, in->key);
    if (status == TERN_ERR_EXISTS)
        return tern_map_fingerprints_meet(in->key);
    if (status == TERN_OK)
        in->old = h.old;
    return status;
}

tern_status tern_map_remove(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                            bool own_only, tern_ptr *old) {
    heir h = heir_of(map, key, NULL, own_only);
    tern_status status =
        tern_operation_change(worker, map->table, key->fingerprint, key->hash, NULL, &h.hook);
    if (status == TERN_OK)
        *old = h.old;
    return status == TERN_ERR_EXISTS ? TERN_ERR_NOT_FOUND : status;
}

tern_status tern_map_look(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                          tern_flags promise, tern_map_descriptor *d) {
    return tern_operation_find(worker, map->table, key->fingerprint, key->hash, promise, d->words);
}
