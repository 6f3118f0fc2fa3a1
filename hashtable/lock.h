#ifndef TERN_HASHTABLE_LOCK_H
#define TERN_HASHTABLE_LOCK_H

/*
 * The lock of a bucket, which lies in its state word: whoever writes an entry a second time holds
 * it, so that entries are put one at a time. The CAS that takes it tells whether the key was
 * erased, at no cost of its own. TERN_ERR_PEER if who holds it died; in a handler TERN_ERR_AGAIN if
 * somebody does.
 */

#include "hashtable/probe.h"

/* Whether to lock a bucket only while its key is there, or erased. */
typedef enum tern_lock_if { TERN_LOCK_ANY, TERN_LOCK_LIVE, TERN_LOCK_ERASED } tern_lock_if;

/* Locks the bucket that p stands at, whose entry is whole and of p's key. guess: its state, if it
 * is not locked. [out] before: what its state was. Without a detail, and nothing is locked:
 * TERN_ERR_NOT_FOUND (live was wanted and it is erased), TERN_ERR_EXISTS (the opposite). */
tern_status tern_bucket_lock(const tern_search *p, uint64_t guess, tern_lock_if wanted,
                             uint64_t *before);

/* Puts an entry, whose value words are there already, into a bucket that is locked, and unlocks. */
tern_status tern_bucket_write(const tern_search *p, uint64_t *entry, bool erased);

/* Only unlocks. state: what it is then. */
tern_status tern_bucket_unlock(const tern_search *p, uint64_t state);

#endif
