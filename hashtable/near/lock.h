#ifndef TERN_HASHTABLE_NEAR_LOCK_H
#define TERN_HASHTABLE_NEAR_LOCK_H

/*
 * The lock of a bucket, which lies in its state word: a rank that writes an entry a second time
 * holds it, so that entries are put one at a time. The CAS that takes it tells whether the key was
 * erased, at no cost of its own. TERN_ERR_PEER if who holds it died; in a handler TERN_ERR_AGAIN if
 * somebody does; TERN_MOVED.
 */

#include "hashtable/near/probe.h"

/* Whether to lock a bucket only while its key is there, or erased. */
typedef enum tern_lock_if { TERN_LOCK_ANY, TERN_LOCK_LIVE, TERN_LOCK_ERASED } tern_lock_if;

/* tern_bucket_lock where one CAS is not enough. */
tern_status tern_bucket_lock_slowly(const tern_key_search *p, uint64_t guess, tern_lock_if wanted,
                                    uint64_t *before);

/* Locks the bucket that p stands at, whose entry is whole and of p's key. guess: its state, if it
 * is not locked. [out] before: what its state was. Without a detail, and nothing is locked:
 * TERN_ERR_NOT_FOUND (live was wanted and it is erased), TERN_ERR_EXISTS (the opposite). */
TERN_ALWAYS_INLINE tern_status tern_bucket_lock(const tern_key_search *p, uint64_t guess,
                                                tern_lock_if wanted, uint64_t *before) {
    if (p->part->near != NULL && wanted == TERN_LOCK_ANY && (guess & TERN_KIND) == TERN_TAKEN) {
        const uint64_t locked = tern_state_locked(p->hash, p->table->rank);
        (void)tern_state_cas(p, p->table->shape, true, guess, locked, before);
        if (__builtin_expect(*before == guess, 1))
            return TERN_OK;
    }
    return tern_bucket_lock_slowly(p, guess, wanted, before);
}

/* Unlocks a near bucket. Meanwhile nobody changes its state, but for the mark of mend.c, which this
 * overwrites. state: what it is then. */
TERN_ALWAYS_INLINE void tern_state_unlock(const tern_key_search *p, tern_shape s, uint64_t state) {
    /* R6: tern_state_cas, tern_state_load */
    __atomic_store_n((uint64_t *)(void *)tern_bucket_near(p, s, 0), state, __ATOMIC_RELEASE);
}

/* Only unlocks, any bucket. */
tern_status tern_bucket_unlock(const tern_key_search *p, uint64_t state);

/* The entry of a bucket that is locked and not erased. The one that held the lock before has put it
 * before unlocking. */
tern_status tern_bucket_read(const tern_key_search *p, uint64_t *entry);

/* Puts an entry, whose value words are there already, into a bucket that is locked, and unlocks. */
TERN_ALWAYS_INLINE tern_status tern_bucket_write(const tern_key_search *p, uint64_t *entry,
                                                 bool erased) {
    const uint64_t unlocked = tern_state_unlocked(p->hash, erased);
    tern_shape s = p->table->shape;
    tern_entry_seal(p, s, entry, erased ? TERN_STAMP_ERASED : TERN_STAMP_UPDATED);
    if (p->part->near != NULL) {
        (void)tern_entry_replace(p, s, true, entry);
        tern_state_unlock(p, s, unlocked);
        return TERN_OK;
    }
    tern_status status = tern_entry_replace(p, s, false, entry);
    /* This put must not overtake that of the next rank to lock. */
    if (status == TERN_OK)
        status = tern_fence(p->worker, p->part->buckets.rank);
    return status == TERN_OK ? tern_bucket_unlock(p, unlocked) : status;
}

/*
 * replace_hook.c: an insert or an erase shows the hook the value that it is about to replace, for
 * values that name something else (map/), which has to be given back when they go. Near and under a
 * lock the hook sees the value while nobody changes it. A flight shows what a get has brought, and
 * then what the owner's put has replaced. What the hook was shown last belongs to the operation,
 * and to no other.
 */

typedef struct tern_replace_hook tern_replace_hook;

/* value: the table's padded words. Anything but TERN_OK leaves the value where it is, and is the
 * operation's status. May not wait. A flight shows a value that it has got, and then the one that
 * its put has replaced, or NULL if that was none: the last one counts (far/flight.h). */
struct tern_replace_hook {
    tern_status (*see)(tern_replace_hook *hook, const uint64_t *value);
};

/* Shows the value of the bucket that p has locked; before: its state until then. An erased key has
 * none. On an error the bucket is unlocked again. */
tern_status tern_replace_hook_ask(const tern_key_search *p, tern_replace_hook *hook,
                                  uint64_t before);

#endif
