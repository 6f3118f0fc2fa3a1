#ifndef TERN_HASHTABLE_BUCKET_SHORT_H
#define TERN_HASHTABLE_BUCKET_SHORT_H

/*
 * The short path of one operation on one key, where load/store reaches its bucket: the probe of
 * probe.h for tables of 8-byte keys with 8-byte values, or with counters, so that every size is a
 * constant. It takes the plain cases alone: the probe ends at a free bucket or at the key's own,
 * whose entry is whole and not erased, and one CAS succeeds at once, or an add meets a counter. If
 * it meets anything else (an entry on its way, a lock, an erased key, another key with the same
 * tag, a bucket that is neither free nor taken nor locked, a full part), it has changed nothing,
 * and the general operation does all from the start. The short path does not enter the table
 * (tern_table_enter) and so must make no progress: a grace period could end in it.
 *
 * Linearization points and memory order are those of probe.h. One look differs: it reads the key of
 * a bucket before the state. If that is the key it looks for, the check decides, as it does for
 * remote readers; if not, the state, which is read next, says what the bucket is.
 *
 * Budget: in these cases no call and no loop but the probe's. A find takes some 145 instructions,
 * an insert 170, of which two thirds are the two hashes and the 1.5 buckets that are looked at on
 * average. The general path takes 430 and 440 (callgrind).
 */

#include "hashtable/bucket/probe.h"

typedef enum tern_short_outcome {
    TERN_SHORT_DECLINED, /* nothing was done; the general operation has to begin */
    TERN_SHORT_FREE, /* the key was not there; p is at the bucket that is free or taken for it */
    TERN_SHORT_MINE  /* p is at the bucket of the key */
} tern_short_outcome;

/* Walks p to where the probe ends. [out] entry: of the key, with TERN_SHORT_MINE. */
TERN_ALWAYS_INLINE tern_short_outcome tern_short_probe(tern_key_search *p, tern_shape s,
                                                       uint64_t *entry) {
    do {
        const uint64_t *there = (const void *)tern_bucket_direct(p, s, s.entry_at);
        /* R4; the check decides, or the state that is read next */
        if (__atomic_load_n(there + 1, __ATOMIC_RELAXED) == p->key[0]) {
            (void)tern_entry_get(p, s, true, entry);
            return tern_entry_judge(p->part->nonce, p->index, s, entry, p->key) == TERN_ENTRY_MINE
                       ? TERN_SHORT_MINE
                       : TERN_SHORT_DECLINED;
        }
        uint64_t state;
        (void)tern_state_load(p, s, true, &state);
        if (state == TERN_FREE)
            return TERN_SHORT_FREE;
        if (tern_state_may_hold(state, p->hash) || (state & TERN_KIND) == TERN_KIND)
            return TERN_SHORT_DECLINED;
        tern_probe_next(p, s);
    } while (p->left > 0);
    return TERN_SHORT_DECLINED;
}

/* Takes the free bucket at p and puts the entry, whose value is set, or the number of a counter. */
TERN_ALWAYS_INLINE tern_short_outcome tern_short_create(const tern_key_search *p, tern_shape s,
                                                        tern_flags promise, uint64_t number,
                                                        uint64_t *entry) {
    const uint32_t rank = p->table->rank;
    uint64_t seen;
    /* After such a long probe the general path asks for growth. */
    if (__builtin_expect(tern_probe_passed(p) >= TERN_PROBE_LONG, 0))
        return TERN_SHORT_DECLINED;
    (void)tern_state_cas(p, s, true, TERN_FREE, tern_state_taken(p->hash, rank), &seen);
    if (__builtin_expect(seen != TERN_FREE, 0))
        return TERN_SHORT_DECLINED;
    if (tern_shape_counts(s))
        /* R9: tern_entry_put; before its release of the check */
        __atomic_store_n(tern_counter_direct(p, s), tern_counter_word(number), __ATOMIC_RELAXED);
    tern_entry_seal(p, s, entry, tern_stamp_inserted(rank));
    (void)tern_entry_put(p, s, true, tern_promise_is_strict(promise), entry);
    return TERN_SHORT_FREE;
}

/* Replaces the value in the bucket at p. entry: the bucket's entry as it was read. */
TERN_ALWAYS_INLINE tern_short_outcome tern_short_replace(const tern_key_search *p, tern_shape s,
                                                         uint64_t value, uint64_t *entry) {
    const uint64_t locked = tern_state_locked(p->hash, p->table->rank);
    const uint64_t before = tern_state_of_check(entry[0], p->hash);
    uint64_t seen;
    (void)tern_state_cas(p, s, true, before, locked, &seen);
    if (__builtin_expect(seen != before, 0))
        return TERN_SHORT_DECLINED;
    entry[2] = value;
    tern_entry_seal(p, s, entry, TERN_STAMP_UPDATED);
    (void)tern_entry_replace(p, s, true, entry);
    tern_state_unlock(p, s, tern_state_unlocked(p->hash, false));
    return TERN_SHORT_MINE;
}

/* The operations. p stands at the key's first bucket. */

TERN_ALWAYS_INLINE tern_short_outcome tern_short_insert(tern_key_search p, const void *value,
                                                        bool only_new, tern_flags promise) {
    const tern_shape s = TERN_SHAPE_PAIR8;
    uint64_t entry[3], word;
    tern_short_outcome met = tern_short_probe(&p, s, entry);
    if (met == TERN_SHORT_DECLINED || (met == TERN_SHORT_MINE && only_new))
        return met;
    memcpy(&word, value, sizeof word);
    if (met == TERN_SHORT_MINE)
        return tern_short_replace(&p, s, word, entry);
    entry[2] = word;
    return tern_short_create(&p, s, promise, 0, entry);
}

TERN_ALWAYS_INLINE tern_short_outcome tern_short_add(tern_key_search p, uint64_t delta,
                                                     tern_flags promise, uint64_t *before) {
    const tern_shape s = TERN_SHAPE_COUNT8;
    uint64_t entry[2];
    tern_short_outcome met = tern_short_probe(&p, s, entry);
    if (met == TERN_SHORT_MINE) {
        const uint64_t word =
            tern_counter_add(tern_counter_direct(&p, s), tern_counter_word(delta));
        const bool gone = tern_counter_gone(word);
        if (__builtin_expect(gone, 0))
            return TERN_SHORT_DECLINED;
        *before = tern_counter_number(word);
        return met;
    }
    if (met == TERN_SHORT_FREE)
        *before = 0;
    return met == TERN_SHORT_FREE ? tern_short_create(&p, s, promise, delta, entry) : met;
}

/* [out] value: 8 bytes, the value or the number. */
TERN_ALWAYS_INLINE tern_short_outcome tern_short_find_in(tern_key_search p, tern_shape s,
                                                         void *value) {
    uint64_t entry[3], word;
    tern_short_outcome met = tern_short_probe(&p, s, entry);
    if (met != TERN_SHORT_MINE)
        return met;
    word = entry[2];
    if (tern_shape_counts(s)) {
        /* R7: tern_counter_add */
        word = __atomic_load_n(tern_counter_direct(&p, s), __ATOMIC_SEQ_CST);
        if (__builtin_expect(tern_counter_gone(word), 0))
            return TERN_SHORT_DECLINED;
        word = tern_counter_number(word);
    }
    memcpy(value, &word, sizeof word);
    return met;
}

TERN_ALWAYS_INLINE tern_short_outcome tern_short_find(tern_key_search p, bool counts, void *value) {
    return __builtin_expect(counts, 0) ? tern_short_find_in(p, TERN_SHAPE_COUNT8, value)
                                       : tern_short_find_in(p, TERN_SHAPE_PAIR8, value);
}

#endif
