#ifndef TERN_HASHTABLE_NEAR_PROBE_H
#define TERN_HASHTABLE_NEAR_PROBE_H

/*
 * Probing: a search walks from a key's first bucket to its own or to the first free one: linear
 * probing of cache lines, each seen whole before the next, wrapping inside the owner's part. Here
 * are its steps and the accesses to the words of a bucket; op/op.h has what searches. near: load,
 * store and the processor's atomics reach the bucket; else gets, puts and tern's atomics do.
 *
 * Linearization. Whatever writes an entry: when the whole of it has arrived in its bucket. Counters
 * that are there: the atomic that adds, swaps, erases, or finds. What leaves a key as it is: the
 * read of the entry that says so, or the CAS that was to lock and met a state that says so; the
 * state's erased bit says what the entry says whenever nobody holds the lock. What does not find
 * its key: the look at the bucket that ended the probe, or at the last one where an insert had not
 * arrived.
 *
 * A key has one bucket for good, so all of this is about one entry, one state and one counter. If
 * the table grows that is so in each array; growth.h says why it is true of all of them together.
 *
 * One order for all keys. Near, each of these points is an access of a check, a state or a counter,
 * and these accesses are sequentially consistent. So the operations of all threads, on whatever
 * keys and tables, happen in one order, which agrees with the order in each thread: of two ranks
 * that change a key each and then look at the other's, one sees the other's change. New entries of
 * a phase of writes are put with a release alone, and so are those of a batch or of a call's
 * handler, which ends with a sequentially consistent fence instead (tern_entries_take_effect).
 *
 * Memory order. A reader believes an entry that passes the check, in whatever order its words came.
 * What lies outside the check is ordered by it: near, the inserter's first store to the counter is
 * ordered before its release store of the check, which pairs with the acquire in tern_entry_get of
 * any rank that then adds to the counter. Far, the first fetch-and-add has returned before the
 * entry is put.
 *
 * An entry that does not pass says nothing, and the state says why. For that the state must be at
 * least as new as the write that tore the entry. Two fences see to it: the writer's between its
 * lock and the words (tern_entry_replace) and the reader's between the words and the state
 * (tern_state_reload). Without either one a reader could see the words of a key's first update and
 * a state from before it, and would take the key for one that is still being inserted.
 *
 * Waits happen where another origin has taken a bucket and its entry is on the way. They make
 * progress; in a handler they are TERN_ERR_AGAIN before anything is changed; if the other origin
 * died, TERN_ERR_PEER.
 */

#include "hashtable/table/table.h"
#include "src/progress/wait.h"
#include "tern/transfer.h"

/* What a probe came to in an array that is left: do it again in the next one (growth/growth.h). */
#define TERN_MOVED ((tern_status)1001)  /* where the key is, if it is not erased */
#define TERN_BEYOND ((tern_status)1002) /* where it is, if it is anywhere; it may be new there */

typedef struct tern_key_search {
    tern_worker *worker;
    const tern_hashtable *table;
    const tern_table_part *part; /* the owner's */
    const uint64_t *key;
    uint64_t hash;
    uint64_t index; /* of the bucket that is looked at */
    uint64_t left;  /* buckets to look at, this one included */
} tern_key_search;

/* Begins anew, in the array where probes of the owner start. */
TERN_ALWAYS_INLINE void tern_probe_restart(tern_key_search *p) {
    /* tern_table_part_of, but predicted, so that the bucket of a part that has not grown does not
     * wait for the owner. */
    const tern_table_part *part = &p->table->part[tern_hash_owner(p->table, p->hash)];
    /* R1: growth_apply */
    const tern_table_part *start = atomic_load_explicit(&part->start, memory_order_acquire);
    p->part = part;
    p->left = p->table->buckets;
    if (__builtin_expect(start != NULL, 0)) {
        p->part = start;
        p->left = start->count;
    }
    p->index = tern_multiply_high(p->hash << 32 | p->hash >> 32, p->left);
}

TERN_ALWAYS_INLINE tern_key_search tern_probe_start(tern_worker *worker,
                                                    const tern_hashtable *table,
                                                    const uint64_t *key, uint64_t hash) {
    tern_key_search p = {.worker = worker, .table = table, .key = key, .hash = hash};
    tern_probe_restart(&p);
    return p;
}

/* Whether an insert passes by an entry that is on its way: a defect that the tests turn on. */
TERN_ALWAYS_INLINE bool tern_probe_passes_by(void) { return TERN_BROKEN(TERN_BREAK_SETTLE); }

/* Buckets that a probe has passed. */
TERN_ALWAYS_INLINE uint64_t tern_probe_passed(const tern_key_search *p) {
    return p->part->count - p->left;
}

/* The next bucket of the same cache line, around it; after the last of these, of the next line. */
TERN_ALWAYS_INLINE void tern_probe_next(tern_key_search *p, tern_shape s) {
    const uint64_t rest = tern_shape_line(s) - 1;
    p->index = (p->index & ~rest) | ((p->index + 1) & rest);
    p->left--;
    if ((tern_probe_passed(p) & rest) != 0)
        return;
    p->index += rest + 1;
    if (p->index >= p->part->count)
        p->index -= p->part->count;
}

TERN_ALWAYS_INLINE uint64_t *tern_counter_near(const tern_key_search *p, tern_shape s) {
    return (uint64_t *)(void *)(p->part->near + p->index * s.stride + 8);
}

/* Where the bucket lies; at counts bytes from its start. */
TERN_ALWAYS_INLINE char *tern_bucket_near(const tern_key_search *p, tern_shape s, uint32_t at) {
    return p->part->near + p->index * s.stride + at;
}

TERN_ALWAYS_INLINE tern_ptr tern_bucket_far(const tern_key_search *p, tern_shape s, uint32_t at) {
    return tern_ptr_add(p->part->buckets, (int64_t)(p->index * s.stride + at));
}

/* What it says about entries is checked by reading them. */
TERN_ALWAYS_INLINE tern_status tern_state_load(const tern_key_search *p, tern_shape s, bool near,
                                               uint64_t *state) {
    if (!near)
        return tern_atomic_load(p->worker, tern_bucket_far(p, s, 0), state);
    /* R7: tern_state_cas; a bucket that is free here is taken later in the one order */
    *state = __atomic_load_n((uint64_t *)(void *)tern_bucket_near(p, s, 0), __ATOMIC_SEQ_CST);
    return TERN_OK;
}

/* The state after an entry that does not pass the check. The fence pairs with tern_entry_replace:
 * the state is at least as new as what tore the entry. */
TERN_ALWAYS_INLINE tern_status tern_state_reload(const tern_key_search *p, tern_shape s, bool near,
                                                 uint64_t *state) {
    /* R2: tern_entry_replace */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return tern_state_load(p, s, near, state);
}

/* [out] seen == expected: it was stored. */
TERN_ALWAYS_INLINE tern_status tern_state_cas(const tern_key_search *p, tern_shape s, bool near,
                                              uint64_t expected, uint64_t desired, uint64_t *seen) {
    if (!near)
        return tern_atomic_cas(p->worker, tern_bucket_far(p, s, 0), expected, desired, seen);
    /* R7: tern_state_load; locks are taken by it, too: R6 */
    __atomic_compare_exchange_n((uint64_t *)(void *)tern_bucket_near(p, s, 0), &expected, desired,
                                0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    *seen = expected;
    return TERN_OK;
}

/* Near entries are copied word by word: others may be writing them. */
TERN_ALWAYS_INLINE void tern_entry_copy(const uint64_t *from, size_t words, uint64_t *entry) {
    /* R7: tern_entry_put, leave; the words are checked: R2 */
    entry[0] = __atomic_load_n(from, __ATOMIC_SEQ_CST);
    for (size_t i = 1; i < words; i++)
        entry[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

TERN_ALWAYS_INLINE tern_status tern_entry_get(const tern_key_search *p, tern_shape s, bool near,
                                              uint64_t *entry) {
    size_t words = tern_entry_words(s);
    if (!near)
        return tern_get(p->worker, entry, tern_bucket_far(p, s, s.entry_at), 8 * words);
    tern_entry_copy((const uint64_t *)(void *)tern_bucket_near(p, s, s.entry_at), words, entry);
    return TERN_OK;
}

/* takes_effect: an operation does by it, while others may be looking for the key. */
TERN_ALWAYS_INLINE tern_status tern_entry_put(const tern_key_search *p, tern_shape s, bool near,
                                              bool takes_effect, const uint64_t *entry) {
    size_t words = tern_entry_words(s);
    if (!near)
        return tern_put(p->worker, tern_bucket_far(p, s, s.entry_at), entry, 8 * words);
    uint64_t *to = (uint64_t *)(void *)tern_bucket_near(p, s, s.entry_at);
    for (size_t i = 1; i < words; i++)
        /* R1: tern_entry_copy; the words are checked: R2 */
        __atomic_store_n(to + i, entry[i], __ATOMIC_RELAXED);
    if (takes_effect)
        /* R7: tern_entry_copy */
        __atomic_store_n(to, entry[0], __ATOMIC_SEQ_CST);
    else
        /* R1: tern_entry_copy */
        __atomic_store_n(to, entry[0], __ATOMIC_RELEASE);
    return TERN_OK;
}

/* Puts an entry over one that readers may be looking at; the bucket is locked. The fence keeps the
 * words behind the lock and pairs with tern_state_reload. An insert needs none: no reader looks at
 * an entry before it has seen the state that the inserter made. */
TERN_ALWAYS_INLINE tern_status tern_entry_replace(const tern_key_search *p, tern_shape s, bool near,
                                                  const uint64_t *entry) {
    /* R2: tern_state_reload */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return tern_entry_put(p, s, near, true, entry);
}

/* Whether an operation takes effect when it puts a near entry; in a phase of writes, or where
 * nobody else looks, that can wait for the phase's end. */
static inline bool tern_promise_is_strict(tern_flags promise) {
    return (promise & (TERN_WRITE_ONLY | TERN_LOCAL)) == 0;
}

/* Behind near entries that were put as in a phase of writes, by a batch, or by a handler, which
 * does not know what its caller has promised: all of them take effect before the caller goes on. */
static inline void tern_entries_take_effect(void) {
    /* R3: tern_entry_copy, tern_state_load; these loads are sequentially consistent */
    atomic_thread_fence(memory_order_seq_cst);
}

TERN_ALWAYS_INLINE tern_verdict tern_probe_judge(const tern_key_search *p, tern_shape s,
                                                 const uint64_t *entry) {
    const tern_hashtable *t = p->table;
    tern_verdict verdict = tern_entry_judge(p->part->nonce, p->index, s, entry, p->key);
    if (__builtin_expect(verdict == TERN_ENTRY_OTHER && t->key_equal != NULL, 0) &&
        t->key_equal(p->key, entry + 1, t->key_bytes, t->key_argument) != 0)
        return tern_entry_of_key(entry);
    return verdict;
}

/* One turn of a wait for the origin that state names. */
tern_status tern_probe_wait(tern_worker *worker, tern_wait_state *wait, uint64_t state);

/* Sets a mark of arrays/liveness.c in the state of a near bucket, if it is state. Returns what it
 * was. */
uint64_t tern_bucket_mark(const tern_key_search *p, uint64_t state, uint64_t marked);

/* TERN_ERR_CORRUPT if the state that was read of the bucket names a rank that does not exist, or
 * one that says that it is not writing the bucket, or has bits that no rank sets. */
tern_status tern_bucket_check(const tern_key_search *p, uint64_t state);

/* What it means that nobody is writing a bucket, and its entry is not whole: TERN_ERR_CORRUPT. */
tern_status tern_bucket_not_whole(const tern_key_search *p, uint64_t state);

/* What it means that state and entry differ on whether the key is erased: TERN_ERR_CORRUPT. */
tern_status tern_bucket_contradictory(const tern_key_search *p, uint64_t state);

/* What it means that a bucket which this rank has locked holds no whole entry: TERN_ERR_CORRUPT. */
tern_status tern_bucket_torn(const tern_key_search *p);

/* What a bucket that is left means where no keys are being moved: TERN_ERR_CORRUPT. */
tern_status tern_bucket_left(const tern_key_search *p);

/* Looks at a bucket that nobody is writing by its state, and whose entry is not whole, until either
 * changes. TERN_ERR_CORRUPT: neither does. */
tern_status tern_bucket_look_again(const tern_key_search *p, uint64_t state);

/* Unlocks a near bucket. Meanwhile nobody changes its state, but for the mark of liveness.c, which
 * this overwrites. state: what it is then. */
TERN_ALWAYS_INLINE void tern_state_unlock(const tern_key_search *p, tern_shape s, uint64_t state) {
    /* R6: tern_state_cas, tern_state_load */
    __atomic_store_n((uint64_t *)(void *)tern_bucket_near(p, s, 0), state, __ATOMIC_RELEASE);
}

/* Makes the entry of the key of p in entry, whose value words are there already. */
TERN_ALWAYS_INLINE void tern_entry_seal(const tern_key_search *p, tern_shape s, uint64_t *entry,
                                        uint64_t stamp) {
    for (uint32_t i = 0; i < s.key_words; i++)
        entry[1 + i] = p->key[i];
    entry[0] = tern_entry_check(p->part->nonce, p->index, s, entry, stamp);
}

/* Adds to a near counter. What it was: if it is gone, nothing has been counted. */
TERN_ALWAYS_INLINE uint64_t tern_counter_add(uint64_t *counter, uint64_t step) {
    if (TERN_BROKEN(TERN_BREAK_ADD)) {
        /* R7; broken on purpose */
        const uint64_t word = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
        tern_relax();
        __atomic_store_n(counter, word + step, __ATOMIC_RELEASE);
        return word;
    }
    /* R7: tern_near_find_in, take */
    return __atomic_fetch_add(counter, step, __ATOMIC_SEQ_CST);
}

/* A new key that was put so far from where its probe began is a sign of it: one in a hundred at two
 * thirds of the buckets, where a table may stay. */
enum { TERN_PROBE_LONG = 64 };

TERN_ALWAYS_INLINE bool tern_probe_is_crowded(const tern_key_search *p) {
    return __builtin_expect(tern_probe_passed(p) >= TERN_PROBE_LONG, 0);
}

#endif
