#ifndef TERN_HASHTABLE_BUCKET_PROBE_H
#define TERN_HASHTABLE_BUCKET_PROBE_H

/*
 * Probing: a search walks from a key's first bucket to the key's own bucket or to the first free
 * one. This is linear probing of cache lines, each seen whole before the next, wrapping inside the
 * owner's part. This file has the steps of a search and the accesses to the words of a bucket; the
 * operations that search are in op/op.h. If the argument direct is true, load, store and the
 * processor's atomics reach the bucket; if not, gets, puts and tern's atomics do.
 *
 * Linearization points. An operation that writes an entry takes effect when the whole entry has
 * arrived in its bucket. An operation on a counter that is there: at the atomic that adds, swaps,
 * erases, or finds. An operation that leaves its key as it is: at the read of the entry that made
 * it do so, or at the CAS that was to lock and met a state that made it do so; while nobody holds
 * the lock, the state's erased bit agrees with the entry. One that does not find its key: at the
 * look at the bucket that ended the probe, or at the last one where an insert had not arrived.
 *
 * A key has one bucket for good, so all of this is about one entry, one state and one counter. If
 * the table grows, this holds in each array; growth.h says why it holds for all arrays together.
 *
 * One order for all keys. In direct buckets these points are accesses to checks, states and
 * counters, all of them sequentially consistent. So the operations of all threads, on whatever keys
 * and tables, happen in one order, which agrees with the order in each thread: of two ranks that
 * change a key each and then look at the other's, one sees the other's change. New entries of a
 * phase of writes are put with a release alone, and so are those of a batch or of a call's handler,
 * which ends with a sequentially consistent fence instead (tern_entries_take_effect).
 *
 * Memory order. A reader believes an entry that passes the check, in whatever order its words came.
 * The counter, which the check does not cover, is ordered by the check. In a direct bucket the
 * inserter's first store to the counter is ordered before its release store of the check, which
 * pairs with the acquire in tern_entry_get of any rank that then adds to the counter. In a remote
 * bucket the first fetch-and-add has returned before the entry is put.
 *
 * An entry that does not pass says nothing, and the state says why. For that the state must be at
 * least as new as the write that tore the entry. Two fences see to it: the writer's between its
 * lock and the words (tern_entry_replace) and the reader's between the words and the state
 * (tern_state_reload). Without either one a reader could see the words of a key's first update and
 * a state from before it, and would take the key for one that is still being inserted.
 *
 * An operation waits where another origin has taken a bucket and the entry is on its way. It makes
 * progress meanwhile. In a handler it does not wait, but ends with TERN_ERR_AGAIN before it has
 * changed anything. If the other origin has died, it ends with TERN_ERR_PEER.
 */

#include "hashtable/table/table.h"
#include "src/progress/wait.h"
#include "tern/transfer.h"

/* Outcomes of a probe in an array whose keys move: it goes on in the next (growth/growth.h). */
#define TERN_MOVED ((tern_status)1001)  /* the key is there, if it is not erased */
#define TERN_BEYOND ((tern_status)1002) /* it is there, if anywhere, and may be inserted there */

typedef struct tern_key_search {
    tern_worker *worker;
    const tern_hashtable *table;
    const tern_table_part *part; /* the owner's */
    const uint64_t *key;
    uint64_t hash;
    uint64_t index; /* of the bucket that is looked at */
    uint64_t left;  /* buckets to look at, this one included */
} tern_key_search;

/* Puts the search back to its start, in the array where probes of the owner's part start. */
TERN_ALWAYS_INLINE void tern_probe_restart(tern_key_search *p) {
    /* As tern_table_part_of, but with a predicted branch: in a part that has not grown, the
     * processor computes the bucket without waiting for the loads of the owner's part. */
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

/* Whether an insert ignores an entry that is on its way: a defect that the tests turn on. */
TERN_ALWAYS_INLINE bool tern_probe_passes_by(void) { return TERN_BROKEN(TERN_BREAK_SETTLE); }

/* Buckets that a probe has passed. */
TERN_ALWAYS_INLINE uint64_t tern_probe_passed(const tern_key_search *p) {
    return p->part->count - p->left;
}

/* Steps to the next bucket, wrapping inside the cache line; after all of it, to the next line. */
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

TERN_ALWAYS_INLINE uint64_t *tern_counter_direct(const tern_key_search *p, tern_shape s) {
    return (uint64_t *)(void *)(p->part->direct + p->index * s.stride + 8);
}

/* The address that lies `at` bytes behind the start of the bucket. */
TERN_ALWAYS_INLINE char *tern_bucket_direct(const tern_key_search *p, tern_shape s, uint32_t at) {
    return p->part->direct + p->index * s.stride + at;
}

TERN_ALWAYS_INLINE tern_ptr tern_bucket_remote(const tern_key_search *p, tern_shape s,
                                               uint32_t at) {
    return tern_ptr_add(p->part->buckets, (int64_t)(p->index * s.stride + at));
}

/* The load needs no order with the entry: a reader checks the entry, whatever the state says. */
TERN_ALWAYS_INLINE tern_status tern_state_load(const tern_key_search *p, tern_shape s, bool direct,
                                               uint64_t *state) {
    if (!direct)
        return tern_atomic_load(p->worker, tern_bucket_remote(p, s, 0), state);
    /* R7: tern_state_cas; a bucket that is free here is taken later in the one order */
    *state = __atomic_load_n((uint64_t *)(void *)tern_bucket_direct(p, s, 0), __ATOMIC_SEQ_CST);
    return TERN_OK;
}

/* Loads the state again after an entry that does not pass the check. The fence pairs with that of
 * tern_entry_replace: the state is at least as new as the write that tore the entry. */
TERN_ALWAYS_INLINE tern_status tern_state_reload(const tern_key_search *p, tern_shape s,
                                                 bool direct, uint64_t *state) {
    /* R2: tern_entry_replace */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return tern_state_load(p, s, direct, state);
}

/* [out] seen: the state before. If it is expected, desired was stored. */
TERN_ALWAYS_INLINE tern_status tern_state_cas(const tern_key_search *p, tern_shape s, bool direct,
                                              uint64_t expected, uint64_t desired, uint64_t *seen) {
    if (!direct)
        return tern_atomic_cas(p->worker, tern_bucket_remote(p, s, 0), expected, desired, seen);
    /* R7: tern_state_load; locks are taken by it, too: R6 */
    __atomic_compare_exchange_n((uint64_t *)(void *)tern_bucket_direct(p, s, 0), &expected, desired,
                                0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    *seen = expected;
    return TERN_OK;
}

/* A direct entry is copied word by word, because other ranks may be writing it. */
TERN_ALWAYS_INLINE void tern_entry_copy(const uint64_t *from, size_t words, uint64_t *entry) {
    /* R7: tern_entry_put, move_leave; the words are checked: R2 */
    entry[0] = __atomic_load_n(from, __ATOMIC_SEQ_CST);
    for (size_t i = 1; i < words; i++)
        entry[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

TERN_ALWAYS_INLINE tern_status tern_entry_get(const tern_key_search *p, tern_shape s, bool direct,
                                              uint64_t *entry) {
    size_t words = tern_entry_words(s);
    if (!direct)
        return tern_get(p->worker, entry, tern_bucket_remote(p, s, s.entry_at), 8 * words);
    tern_entry_copy((const uint64_t *)(void *)tern_bucket_direct(p, s, s.entry_at), words, entry);
    return TERN_OK;
}

/* takes_effect: the operation takes effect by this put, while others may be looking for the key. */
TERN_ALWAYS_INLINE tern_status tern_entry_put(const tern_key_search *p, tern_shape s, bool direct,
                                              bool takes_effect, const uint64_t *entry) {
    size_t words = tern_entry_words(s);
    if (!direct)
        return tern_put(p->worker, tern_bucket_remote(p, s, s.entry_at), entry, 8 * words);
    uint64_t *to = (uint64_t *)(void *)tern_bucket_direct(p, s, s.entry_at);
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
 * stores of the words behind the lock and pairs with tern_state_reload. An insert needs no fence:
 * no reader looks at an entry before it has seen the state that the inserter made. */
TERN_ALWAYS_INLINE tern_status tern_entry_replace(const tern_key_search *p, tern_shape s,
                                                  bool direct, const uint64_t *entry) {
    /* R2: tern_state_reload */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return tern_entry_put(p, s, direct, true, entry);
}

/* Whether an operation must have taken effect for all ranks as soon as it has put a direct entry.
 * In a phase of writes, or where no other rank looks, that can wait for the end of the phase. */
static inline bool tern_promise_is_strict(tern_flags promise) {
    return (promise & (TERN_WRITE_ONLY | TERN_LOCAL)) == 0;
}

/* Called after direct entries were put as in a phase of writes: by a batch, or by a handler, which
 * does not know what its caller has promised. All of them take effect before the caller goes on. */
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

/* One turn, with progress, of a wait for the origin that state names. */
tern_status tern_probe_wait(tern_worker *worker, tern_wait_state *wait, uint64_t state);

/* For liveness.c: sets the state of a direct bucket to marked if it is state. Returns the old
 * state. */
uint64_t tern_bucket_mark(const tern_key_search *p, uint64_t state, uint64_t marked);

/* TERN_ERR_CORRUPT if the state that was read of the bucket names a rank that does not exist, or
 * one that says that it is not writing the bucket, or has bits that no rank sets. */
tern_status tern_bucket_check(const tern_key_search *p, uint64_t state);

/* Returns TERN_ERR_CORRUPT: nobody is writing the bucket, and yet its entry is not whole. */
tern_status tern_bucket_not_whole(const tern_key_search *p, uint64_t state);

/* Returns TERN_ERR_CORRUPT: state and entry differ on whether the key is erased. */
tern_status tern_bucket_contradictory(const tern_key_search *p, uint64_t state);

/* Returns TERN_ERR_CORRUPT: a bucket which this rank has locked holds no whole entry. */
tern_status tern_bucket_torn(const tern_key_search *p);

/* Returns TERN_ERR_CORRUPT: a bucket says that its key has moved, and no keys are being moved. */
tern_status tern_bucket_left(const tern_key_search *p);

/* Looks again at a bucket whose state names no writer and whose entry is not whole, until one of
 * the two changes. TERN_ERR_CORRUPT: neither does. */
tern_status tern_bucket_look_again(const tern_key_search *p, uint64_t state);

/* Unlocks a direct bucket by storing state. While it is locked nobody else changes its state,
 * except for the mark of liveness.c, which this store overwrites. */
TERN_ALWAYS_INLINE void tern_state_unlock(const tern_key_search *p, tern_shape s, uint64_t state) {
    /* R6: tern_state_cas, tern_state_load */
    __atomic_store_n((uint64_t *)(void *)tern_bucket_direct(p, s, 0), state, __ATOMIC_RELEASE);
}

/* Completes entry: adds the key of p and the check. The caller has set the value words. */
TERN_ALWAYS_INLINE void tern_entry_seal(const tern_key_search *p, tern_shape s, uint64_t *entry,
                                        uint64_t stamp) {
    for (uint32_t i = 0; i < s.key_words; i++)
        entry[1 + i] = p->key[i];
    entry[0] = tern_entry_check(p->part->nonce, p->index, s, entry, stamp);
}

/* Adds to a direct counter. Returns the word before. If that word is erased or moved, nothing was
 * added. */
TERN_ALWAYS_INLINE uint64_t tern_counter_add(uint64_t *counter, uint64_t step) {
    if (TERN_BROKEN(TERN_BREAK_ADD)) {
        /* R7; broken on purpose */
        const uint64_t word = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
        tern_relax();
        __atomic_store_n(counter, word + step, __ATOMIC_RELEASE);
        return word;
    }
    /* R7: tern_short_find_in, direct_add, tern_direct_count */
    return __atomic_fetch_add(counter, step, __ATOMIC_SEQ_CST);
}

/* A new key so many buckets behind the start of its probe is a sign that the part is crowded. If
 * two thirds of the buckets are used, as a table may stay, one new key in a hundred is. */
enum { TERN_PROBE_LONG = 64 };

TERN_ALWAYS_INLINE bool tern_probe_is_crowded(const tern_key_search *p) {
    return __builtin_expect(tern_probe_passed(p) >= TERN_PROBE_LONG, 0);
}

#endif
