#ifndef TERN_HASHTABLE_TABLE_BUCKET_H
#define TERN_HASHTABLE_TABLE_BUCKET_H

/*
 * Bucket: room for one key. From its start, in 8-byte words:
 *
 *     state     changed by CAS and read by atomic loads only
 *     counter   counter tables only: changed by fetch-and-add and read by atomic loads only
 *     check     \
 *     key        | the entry: put and got plainly, as a whole
 *     value     /
 *
 * Key and value are padded with zeros to whole words. State and entry lie side by side, so that a
 * bucket of up to 64 bytes costs one cache line, yet no byte is under both atomics and puts, which
 * MPI forbids.
 *
 * State word, from bit 0:
 *
 *     0..1    kind: free (the rest is 0), taken, locked, left (growth.h: nobody takes it)
 *     2       updated: the entry was, or is being, written a second time
 *     3       erased: the key is not in the table; with taken and updated, or left, only
 *     8..31   tag: bits 32..55 of the key's hash
 *     32..53  rank: taken and not updated: the inserter; locked: the holder of the lock; else 0
 *     54      suspicious, of a lock: a worker of that rank does not hold it (arrays/liveness.c)
 *     55      damaged: that rank is not writing the bucket; nothing changes it any more
 *     56..63  0
 *
 * A bucket goes free -> taken (or locked) once, then back and forth between taken and locked. It
 * never becomes free again and its key never changes, not even by an erase: if the erased key is
 * inserted again, it gets the same bucket, and no other key does. So a probe that has passed a
 * bucket need not look back. When the keys of the part move, every bucket ends in one of three
 * "left" states, two of which have no tag:
 *
 *     frozen  it was free: a probe that gets here goes on in the next array
 *     moved   (updated, and the tag) its key, if not erased, is in the next array
 *     aborted (erased) the insert did not finish, since its rank died: probes pass it
 *
 * Counter, from bit 0: 0: erased; 1: moved; 2..63: the number, in two's complement. An add changes
 * the number alone, whatever it adds. So an add that comes too late does no harm to an erased or
 * moved counter, and learns from its result that the counter is gone.
 *
 * Check, from bit 0:
 *
 *     0..15   stamp: tells the state that the bucket has while nobody holds the lock. So the origin
 *             of an update, which has just read the entry, can lock at its first CAS. 0xffff:
 *             updated; 0xfffe: erased; 0xfffd: moved and erased; 0xfffc: moved and not erased;
 *             else rank + 1 of the inserter (0xfffb: that or any greater one)
 *     16..63  hash of stamp, key and value, seeded with the table's nonce and the bucket's index
 *
 * An entry that is torn, not yet written or left over from an older table does not pass. In a
 * counter table the entry is never written again: what is erased is the counter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/broken.h"
#include "src/peer.h"

/* The largest keys and values, in bytes. */
enum { TERN_KEY_MAX = 1024, TERN_VALUE_MAX = 65536 };

/* A process waits at least so many ns between two liveness queries about one table
 * (hashtable/arrays/liveness.c). It is a variable only for tests. */
extern uint64_t tern_liveness_query_ns;

#define TERN_ALWAYS_INLINE static inline __attribute__((always_inline))

enum {
    TERN_FREE = 0,
    TERN_TAKEN = 1,
    TERN_LOCKED = 2,
    TERN_LEFT = 3,
    TERN_KIND = 3,
    TERN_UPDATED = 4,
    TERN_ERASED = 8
};

#define TERN_FROZEN UINT64_C(3)
#define TERN_ABORTED UINT64_C(11)
#define TERN_TAG UINT64_C(0xffffff00)
#define TERN_STATE_RANKS (UINT32_C(1) << 22)
#define TERN_STATE_SUSPICIOUS (UINT64_C(1) << 54)
#define TERN_STATE_WRONG (UINT64_C(1) << 55)
#define TERN_STATE_UNUSED (UINT64_MAX << 56) /* no rank sets them */
#define TERN_STAMP UINT64_C(0xffff)
#define TERN_STAMP_UPDATED UINT64_C(0xffff)
#define TERN_STAMP_ERASED UINT64_C(0xfffe)
#define TERN_STAMP_MOVED_ERASED UINT64_C(0xfffd)
#define TERN_STAMP_MOVED UINT64_C(0xfffc)
#define TERN_STAMP_RANKS UINT64_C(0xfffb)
#define TERN_COUNTER_ERASED UINT64_C(1)
#define TERN_COUNTER_MOVED UINT64_C(2)

/* The sizes of a table, in words of 8 bytes where it does not say bytes. */
typedef struct tern_shape {
    uint32_t key_words;
    uint32_t value_words;
    uint32_t entry_at; /* bytes from the bucket's start: 16 with a counter, else 8 */
    uint32_t stride;   /* bytes from one bucket to the next */
} tern_shape;

/* The shapes of keys of 8 bytes with counters, or with values of 8 bytes. Where the shape is a
 * constant, the compiler removes the general case. */
#define TERN_SHAPE_COUNT8 ((tern_shape){1, 0, 16, 32})
#define TERN_SHAPE_PAIR8 ((tern_shape){1, 1, 8, 32})

static inline int tern_shape_counts(tern_shape shape) { return shape.entry_at == 16; }

/* How many buckets a cache line holds, a power of two. The bucket count of a part is a multiple. */
static inline uint64_t tern_shape_line(tern_shape shape) {
    return shape.stride < 64 ? 64 / shape.stride : 1;
}

static inline size_t tern_entry_words(tern_shape shape) {
    return (size_t)1 + shape.key_words + shape.value_words;
}

static inline uint64_t tern_state_tag(uint64_t hash) { return (hash >> 24) & TERN_TAG; }

static inline uint64_t tern_state_taken(uint64_t hash, uint32_t rank) {
    return TERN_TAKEN | tern_state_tag(hash) | (uint64_t)rank << 32;
}

static inline uint64_t tern_state_locked(uint64_t hash, uint32_t rank) {
    return TERN_LOCKED | TERN_UPDATED | tern_state_tag(hash) | (uint64_t)rank << 32;
}

static inline uint64_t tern_state_unlocked(uint64_t hash, bool erased) {
    return TERN_TAKEN | TERN_UPDATED | tern_state_tag(hash) | (erased ? TERN_ERASED : 0);
}

static inline uint64_t tern_state_moved(uint64_t hash) {
    return TERN_LEFT | TERN_UPDATED | tern_state_tag(hash);
}

static inline int tern_state_may_hold(uint64_t state, uint64_t hash) {
    return (state & TERN_TAG) == tern_state_tag(hash);
}

static inline uint32_t tern_state_rank(uint64_t state) {
    return (uint32_t)(state >> 32) & (TERN_STATE_RANKS - 1);
}

/* Whether the state is not one of damage: it has neither the mark nor a bit that no rank sets. */
static inline bool tern_state_is_possible(uint64_t state) {
    const bool locked = (state & TERN_KIND) == TERN_LOCKED;
    const uint64_t mark = locked ? 0 : TERN_STATE_SUSPICIOUS;
    return (state & (TERN_STATE_UNUSED | TERN_STATE_WRONG | mark)) == 0;
}

/* The mark for a damaged bucket: its state names a rank that is not writing it. */
static inline uint64_t tern_state_wrong(uint64_t state) {
    return (state & ~TERN_STATE_SUSPICIOUS) | TERN_STATE_WRONG;
}

/* The rank that holds the lock or, if the entry was never updated, the rank that inserts or has
 * inserted it, which the state names for good. If the entry was read before the state and is not
 * whole, the rank is still writing. In other states TERN_NOBODY: bits of 0 do not mean rank 0. */
static inline uint32_t tern_state_writer(uint64_t state) {
    const bool arriving = (state & (TERN_KIND | TERN_UPDATED)) == TERN_TAKEN;
    return arriving || (state & TERN_KIND) == TERN_LOCKED ? tern_state_rank(state) : TERN_NOBODY;
}

static inline uint64_t tern_counter_word(uint64_t number) { return number << 2; }

static inline uint64_t tern_counter_number(uint64_t word) { return (uint64_t)((int64_t)word >> 2); }

static inline bool tern_counter_erased(uint64_t word) { return (word & TERN_COUNTER_ERASED) != 0; }

static inline bool tern_counter_moved(uint64_t word) { return (word & TERN_COUNTER_MOVED) != 0; }

/* Whether the counter is erased or moved, so that an add, a swap or a find cannot use it. */
static inline bool tern_counter_gone(uint64_t word) {
    return (word & (TERN_COUNTER_ERASED | TERN_COUNTER_MOVED)) != 0;
}

static inline uint64_t tern_stamp_inserted(uint32_t rank) {
    return rank < TERN_STAMP_RANKS - 1 ? rank + UINT64_C(1) : TERN_STAMP_RANKS;
}

/* The state that a bucket whose entry has this check most likely has. */
static inline uint64_t tern_state_of_check(uint64_t check, uint64_t hash) {
    uint64_t stamp = check & TERN_STAMP;
    return stamp >= TERN_STAMP_ERASED ? tern_state_unlocked(hash, stamp == TERN_STAMP_ERASED)
                                      : tern_state_taken(hash, (uint32_t)(stamp - 1));
}

/* XXH3 of two words, inlined as a whole, which is little code where the size is a constant. Without
 * "flatten" gcc calls the general function. */
static inline __attribute__((flatten)) uint64_t tern_hash_pair(const uint64_t *words,
                                                               uint64_t seed) {
    return XXH3_64bits_withSeed(words, 16, seed);
}

static inline __attribute__((flatten)) uint64_t tern_hash_word(const uint64_t *word,
                                                               uint64_t seed) {
    return XXH3_64bits_withSeed(word, 8, seed);
}

/* The check of the entry whose key and value stand behind entry[0]. Never 0: no stamp is 0. */
TERN_ALWAYS_INLINE uint64_t tern_entry_check(uint64_t nonce, uint64_t index, tern_shape shape,
                                             const uint64_t *entry, uint64_t stamp) {
    size_t bytes = 8 * (tern_entry_words(shape) - 1);
    const uint64_t seed = nonce ^ (index << 16 | stamp);
    uint64_t hash = bytes == 16  ? tern_hash_pair(entry + 1, seed)
                    : bytes == 8 ? tern_hash_word(entry + 1, seed)
                                 : XXH3_64bits_withSeed(entry + 1, bytes, seed);
    return (hash & ~TERN_STAMP) | stamp;
}

typedef enum tern_verdict {
    TERN_ENTRY_INVALID, /* torn, not yet written, or nobody's */
    TERN_ENTRY_OTHER,   /* whole, with another key */
    TERN_ENTRY_MOVED,   /* whole, with the key that is looked for, which the next array has */
    TERN_ENTRY_ERASED,  /* the same, erased */
    TERN_ENTRY_MINE     /* the same, neither moved nor erased */
} tern_verdict;

static inline tern_verdict tern_entry_of_key(const uint64_t *entry) {
    uint64_t stamp = entry[0] & TERN_STAMP;
    if (__builtin_expect(stamp < TERN_STAMP_MOVED || stamp == TERN_STAMP_UPDATED, 1))
        return TERN_ENTRY_MINE;
    return stamp == TERN_STAMP_ERASED ? TERN_ENTRY_ERASED : TERN_ENTRY_MOVED;
}

TERN_ALWAYS_INLINE tern_verdict tern_entry_judge(uint64_t nonce, uint64_t index, tern_shape shape,
                                                 const uint64_t *entry, const uint64_t *key) {
    if (entry[0] == 0 ||
        (tern_entry_check(nonce, index, shape, entry, entry[0] & TERN_STAMP) != entry[0] &&
         !TERN_BROKEN(TERN_BREAK_ENTRY)))
        return TERN_ENTRY_INVALID;
    uint64_t different = 0;
    for (uint32_t i = 0; i < shape.key_words; i++)
        different |= entry[1 + i] ^ key[i];
    return different == 0 ? tern_entry_of_key(entry) : TERN_ENTRY_OTHER;
}

#endif
