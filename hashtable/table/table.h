#ifndef TERN_HASHTABLE_TABLE_TABLE_H
#define TERN_HASHTABLE_TABLE_TABLE_H

/*
 * Table: one part per rank, each in the segment of the rank that owns it. A part is an anchor and
 * an array of buckets right behind, of one size everywhere. Where the table grows, larger arrays
 * may follow (hashtable/arrays/arrays.h).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "hashtable/table/bucket.h"
#include "path/choose.h"
#include "src/collective/callee.h"
#include "src/context.h"
#include "src/collective/object.h"
#include "tern/hashtable.h"

/* An array descriptor: which arrays of a part are in use. Keys move from the first to the second.
 * The owner puts it as a whole. Other ranks get it as a whole, and use it if the check is right. */
typedef struct tern_array_descriptor {
    uint64_t check;                      /* of what follows (descriptor_check) */
    uint64_t generation, buckets, count; /* of the array where probes start; buckets: offset */
    uint64_t next_buckets, next_count;   /* the next array; offset 0: it does not exist */
    uint64_t refused;                    /* how often the owner has refused to make one */
    uint64_t moves;                      /* 1: all ranks know that keys may move (growth/grace.c) */
} tern_array_descriptor;

/*
 * At the start of a part, four cache lines:
 *
 *     scratch         written by measurements (tern_path_target) and read by nobody
 *     room            changed by atomics of all ranks: how many new keys the next array still takes
 *                     while the owner moves keys there
 *     growth_request  put by any rank, cleared by the owner; 1: the array gets full; 2: it is full
 *     descriptor      put by the owner, got by others
 */
typedef struct tern_anchor {
    _Alignas(64) uint64_t scratch[2];
    _Alignas(64) uint64_t room;
    _Alignas(64) unsigned char growth_request;
    _Alignas(64) tern_array_descriptor descriptor;
} tern_anchor;

/* An array of buckets, as this process sees it. Only the last two members change, and ranks other
 * than the owner may learn of that late. */
typedef struct tern_table_part {
    char *direct;     /* address of the buckets if load, store and the processor's atomics reach
                         them, else NULL */
    tern_ptr buckets; /* the anchor lies right before those of the first array */
    uint64_t count;   /* of buckets */
    uint64_t nonce;   /* seeds the checks: entries of other arrays do not pass */
    uint32_t worker;  /* of the owner, which takes calls, unless service threads do */
    uint32_t generation;
    _Atomic(const struct tern_table_part *)
        start; /* in the first array: where probes start; NULL: here */
    _Atomic(const struct tern_table_part *) next; /* where keys have moved; NULL: not known of */
} tern_table_part;

struct tern_hashtable {
    tern_context *context;
    tern_object object;
    tern_callee callee;
    uint64_t nonce;   /* random, the same on all ranks; of every first array */
    uint64_t buckets; /* of every first array */
    tern_shape shape;
    uint32_t rank, ranks;
    size_t key_bytes, value_bytes;
    bool call_only;
    bool all_direct; /* every part has a direct address */
    bool plain;      /* bucket/short.h serves its sizes, where a part is direct */
    bool owners_put; /* owners serve put-ifs on remote parts (rma/transfer.h) */
    bool words_seen; /* gets may read words that atomics change */
    uint64_t (*key_hash)(const void *key, size_t bytes, void *argument);          /* NULL: XXH3 */
    int (*key_equal)(const void *a, const void *b, size_t bytes, void *argument); /* NULL: bytes */
    uint64_t (*key_owner)(const void *key, size_t bytes, void *argument); /* NULL: by the hash */
    void *key_argument;
    bool users_hash;        /* key_hash or key_owner is given: they need an aligned key */
    _Atomic uint64_t asked; /* ns: of the last liveness query of this process */
    atomic_uint modifiers;  /* modifiers that run in this process, each of which holds a bucket */
    atomic_bool meets_keys; /* the last insert met its key: the next one looks before it takes */
    tern_table_part *part;  /* by rank, the first array */
    struct tern_growth *growth;
    bool grows;        /* its parts become larger; else they move into arrays of their size */
    bool asks;         /* before a first move, a grace period tells all ranks that keys may move */
    atomic_bool moves; /* keys may move between arrays; while false, no rank expects it */
    struct tern_table_inside *inside; /* by worker */
    struct tern_deferred **deferred;  /* batches that wait for a bucket, by worker (deferred.h) */
    struct tern_op_pool **requests;   /* under way, by worker (op/pool.h) */
};

/* The operations of a worker that may hold an array while they make progress (growth/grace.c).
 * Used by the worker alone. */
typedef struct tern_table_inside {
    uint64_t operations;                /* how many it is in, one inside the other */
    uint64_t begun;                     /* how many outermost ones it has begun so far */
    struct tern_op_pipeline *pipelines; /* batches that it is in, the innermost first (op/pool.h) */
    bool owes; /* a part was crowded or moving: the next operation makes progress */
    char unused[39];
} tern_table_inside;

/* table.c: makes progress. Operations that meet growth pay for part of its work, so that keys move
 * on ranks, too, that do nothing but operations. */
void tern_table_pay(tern_worker *worker, const tern_hashtable *table);

/* Enters again after a wait that held no array. Makes no progress: it could overwrite an error. */
static inline void tern_table_reenter(const tern_worker *worker, const tern_hashtable *table) {
    tern_table_inside *inside = &table->inside[worker->index];
    if (inside->operations++ == 0)
        inside->begun++;
}

static inline void tern_table_enter(tern_worker *worker, const tern_hashtable *table) {
    if (__builtin_expect(table->inside[worker->index].owes, 0))
        tern_table_pay(worker, table);
    tern_table_reenter(worker, table);
}

static inline void tern_table_exit(const tern_worker *worker, const tern_hashtable *table) {
    table->inside[worker->index].operations--;
}

/* Whether keys of this table may move before an operation ends that is just entering the table. */
static inline bool tern_table_moves(const tern_hashtable *table) {
    /* R4 */
    return atomic_load_explicit(&table->moves, memory_order_relaxed);
}

/* The question that an operation on a part asks the chooser of its path. */
static inline tern_path_question tern_table_question(tern_worker *worker,
                                                     const tern_hashtable *table, uint32_t owner,
                                                     tern_flags flags, const char *name) {
    const tern_table_part *part = &table->part[owner];
    const size_t back = sizeof(tern_anchor) - offsetof(tern_anchor, scratch);
    return (tern_path_question){
        .worker = worker,
        .name = name,
        .object = "table",
        .target = {tern_container_worker(table->context, owner, part->worker),
                   tern_ptr_add(part->buckets, -(int64_t)back)},
        .flags = flags,
        .call_only = table->call_only,
        .reached = part->direct != NULL};
}

/* A key as it lies in an entry, and its hash. */
typedef struct tern_table_key {
    uint64_t words[TERN_KEY_MAX / 8];
    uint64_t hash;
} tern_table_key;

/* place.c: the hash of a key in a table to which the program gave a hash or an owner function. */
uint64_t tern_users_hash(const tern_hashtable *table, const void *key);

/* The hash of a key. Its words may be unaligned only where the program gave neither function. */
static inline uint64_t tern_key_hash(const tern_hashtable *table, const void *key) {
    return __builtin_expect(!table->users_hash, 1) ? XXH3_64bits(key, table->key_bytes)
                                                   : tern_users_hash(table, key);
}

/* Copies bytes and pads them with zeros to whole words. */
static inline void tern_words_fill(uint64_t *words, uint32_t count, const void *bytes,
                                   size_t size) {
    if (count == 0)
        return;
    words[count - 1] = 0;
    memcpy(words, bytes, size);
}

static inline void tern_key_load(const tern_hashtable *table, const void *bytes,
                                 tern_table_key *key) {
    tern_words_fill(key->words, table->shape.key_words, bytes, table->key_bytes);
    key->hash = tern_key_hash(table, table->users_hash ? key->words : bytes);
}

/* The hash of a key at any address: the program's functions get an aligned copy. */
static inline uint64_t tern_hash_of_bytes(const tern_hashtable *table, const void *bytes) {
    if (__builtin_expect(!table->users_hash, 1))
        return XXH3_64bits(bytes, table->key_bytes);
    tern_table_key key;
    tern_key_load(table, bytes, &key);
    return key.hash;
}

static inline uint64_t tern_multiply_high(uint64_t a, uint64_t b) {
    return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

/* Owner, bucket and tag use different bits of the hash: the uppermost, those from 31 down, and 32
 * to 55. */
static inline uint32_t tern_hash_owner(const tern_hashtable *table, uint64_t hash) {
    return (uint32_t)tern_multiply_high(hash, table->ranks);
}

static inline uint64_t tern_part_bucket(const tern_table_part *part, uint64_t hash) {
    return tern_multiply_high(hash << 32 | hash >> 32, part->count);
}

/* Where the probe of a key begins in the first array. */
static inline uint64_t tern_hash_bucket(const tern_hashtable *table, uint64_t hash) {
    return tern_part_bucket(table->part, hash);
}

/* The array where probes of a rank's part start. Acquire pairs with the release in growth_apply:
 * the array is described by then. Until the part grows, it is one load of a line that is read
 * anyway. */
static inline const tern_table_part *tern_table_part_of(const tern_hashtable *table,
                                                        uint32_t rank) {
    const tern_table_part *first = &table->part[rank];
    /* R1: growth_apply */
    const tern_table_part *start = atomic_load_explicit(&first->start, memory_order_acquire);
    return __builtin_expect(start == NULL, 1) ? first : start;
}

/* table.c: makes count buckets of this rank free. Nobody uses them meanwhile. */
void tern_table_clear(const tern_hashtable *table, char *buckets, uint64_t count);

/* check.c: refuses arguments that every operation refuses; name is the function's. */
tern_status tern_hashtable_check(const tern_worker *worker, const tern_hashtable *table,
                                 const void *keys, tern_flags flags, tern_flags excluded,
                                 const char *name);

/* Checks what a modification of a table or a map is given. */
tern_status tern_modify_check(const char *name, bool has_modifier,
                              const tern_modify_options *options);
/* Gives the modifier's result to the caller. TERN_ERR_RANGE: it has no room there. */
tern_status tern_modify_result(const tern_modify_options *options, const void *result,
                               size_t bytes);

/* TERN_ERR_ARGUMENT where flags promise TERN_LOCAL, and the key is another rank's. */
tern_status tern_hashtable_check_owner(const tern_hashtable *table, uint32_t owner,
                                       tern_flags flags, const char *name);

/* TERN_ERR_UNSUPPORTED unless the table has counters (1) or values (0). */
tern_status tern_hashtable_check_kind(const tern_hashtable *table, int counter, const char *name);

/* The advice to the program, for errors, where keys found no room. */
const char *tern_table_room_remedy(const tern_hashtable *table);

/* Sets the detail of TERN_ERR_FULL and TERN_ERR_NOT_FOUND, and returns status. */
tern_status tern_hashtable_outcome(const tern_hashtable *table, uint32_t owner, tern_status status);

/* What files of the folder above define. */

/* create.c: called where a death ends the loading of a table, which other ranks may complete. This
 * rank's part stays for them until the context ends; this rank gives the table up. */
void tern_table_leave(tern_hashtable *table);

/* collective.c: empties this rank's part, and takes it back to its first size. Nobody uses the
 * part, and no keys are being moved in it. */
void tern_table_clear_own(tern_worker *worker, tern_hashtable *table);

#endif
