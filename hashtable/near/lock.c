#include "hashtable/near/lock.h"

static bool is_wanted(uint64_t state, tern_lock_if wanted) {
    bool erased = (state & TERN_ERASED) != 0;
    return wanted == TERN_LOCK_ANY || erased == (wanted == TERN_LOCK_ERASED);
}

/* Which state precedes which does not matter: all that the lock says about the key is the erased
 * bit, and that is in the word that the CAS compares. */
tern_status tern_bucket_lock_slowly(const tern_key_search *p, uint64_t guess, tern_lock_if wanted,
                                    uint64_t *before) {
    const tern_hashtable *table = p->table;
    const bool near = p->part->near != NULL;
    const uint64_t locked = tern_state_locked(p->hash, table->rank);
    tern_wait_state wait = TERN_WAIT_IN("an operation on a hash table");
    const uint64_t usual = tern_state_unlocked(p->hash, wanted == TERN_LOCK_ERASED);
    uint64_t expected = guess;
    for (;;) {
        if ((expected & TERN_KIND) == TERN_LOCKED || !tern_state_is_possible(expected)) {
            tern_status status = tern_bucket_wait(p, &wait, expected);
            if (status != TERN_OK)
                return status;
        }
        /* A guess may be old, and only what was seen counts. */
        if ((expected & TERN_KIND) == TERN_LOCKED || !is_wanted(expected, wanted))
            expected = usual;
        uint64_t seen;
        tern_status status = tern_state_cas(p, table->shape, near, expected, locked, &seen);
        if (status != TERN_OK)
            return status;
        if (seen == expected) {
            *before = seen;
            return TERN_OK;
        }
        if ((seen & TERN_KIND) == TERN_LEFT)
            return TERN_MOVED;
        if ((seen & TERN_KIND) != TERN_LOCKED && !is_wanted(seen, wanted)) {
            status = tern_bucket_agree(p, seen);
            if (status != TERN_OK)
                return status;
            return wanted == TERN_LOCK_LIVE ? TERN_ERR_NOT_FOUND : TERN_ERR_EXISTS;
        }
        expected = seen;
    }
}

tern_status tern_bucket_unlock(const tern_key_search *p, uint64_t state) {
    uint64_t locked = tern_state_locked(p->hash, p->table->rank), seen;
    if (p->part->near == NULL)
        return tern_state_cas(p, p->table->shape, false, locked, state, &seen);
    tern_state_unlock(p, p->table->shape, state);
    return TERN_OK;
}

tern_status tern_bucket_read(const tern_key_search *p, uint64_t *entry) {
    tern_shape s = p->table->shape;
    tern_status status = tern_entry_get(p, s, p->part->near != NULL, entry);
    if (status == TERN_OK && tern_probe_judge(p, s, entry) != TERN_ENTRY_MINE)
        status = tern_bucket_torn(p);
    return status;
}
