#include "map/block.h"

#include "hashtable/op/op.h"

/* Sees the descriptor that is replaced or erased: checks that it belongs to the key and is the one
 * that is expected, and keeps the address of its block. */
typedef struct heir {
    tern_op_hook hook;
    const tern_map *map;
    const tern_map_key *key;
    const tern_map_descriptor *expected; /* NULL: any */
    bool own_only;
    bool differs; /* from what is expected */
    tern_ptr old;
} heir;

static tern_status map_operation_see(tern_op_hook *hook, const uint64_t *d, uint64_t *next) {
    heir *h = (heir *)(void *)hook;
    (void)next;
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
    return (heir){{map_operation_see, false}, map, key, expected, own_only, false, TERN_NULL};
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
    tern_op op;
    tern_op_init(&op,
                 in->expected != NULL ? TERN_OP_REPLACE
                 : in->only_new       ? TERN_OP_INSERT_NEW
                                      : TERN_OP_INSERT,
                 worker, map->table, in->key->fingerprint, in->key->hash, in->promise);
    op.given = &in->d;
    op.hook = in->only_new ? NULL : &h.hook;
    tern_status status = tern_op_run(&op);
    in->existed = in->expected != NULL ? status == TERN_OK : op.result != 0;
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
    tern_op op;
    tern_op_init(&op, TERN_OP_ERASE, worker, map->table, key->fingerprint, key->hash,
                 TERN_READ_WRITE);
    op.hook = &h.hook;
    const tern_status status = tern_op_run(&op);
    if (status == TERN_OK)
        *old = h.old;
    return status == TERN_ERR_EXISTS ? TERN_ERR_NOT_FOUND : status;
}

tern_status tern_map_look(tern_worker *worker, const tern_map *map, const tern_map_key *key,
                          tern_flags promise, tern_map_descriptor *d) {
    tern_op op;
    tern_op_init(&op, TERN_OP_FIND, worker, map->table, key->fingerprint, key->hash, promise);
    op.taken = d->words;
    return tern_op_run(&op);
}
