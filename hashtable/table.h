#ifndef TERN_HASHTABLE_TABLE_H
#define TERN_HASHTABLE_TABLE_H

/*
 * Table: one part per rank, all of the same size, each in the segment of the rank that owns it. A
 * part is an anchor, by which calls find the table's object at their target, and an array of
 * buckets.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "choice/choice.h"
#include "hashtable/bucket.h"
#include "hashtable/limits.h"
#include "src/context.h"
#include "src/error.h"
#include "tern/hashtable.h"

/* One cache line at the start of a part. Written by its owner at creation and destruction, read by
 * it when a call names it. */
typedef struct tern_anchor {
    _Alignas(64) uint64_t nonce; /* 0: no table here any more */
    tern_hashtable *table;
} tern_anchor;

typedef struct tern_part {
    char *near;       /* address of the buckets where load/store and the processor's atomics reach
                         them, else NULL */
    tern_ptr buckets; /* the anchor lies right before */
    uint32_t worker;  /* the owner's, that takes calls */
} tern_part;

struct tern_hashtable {
    tern_context *context;
    uint64_t nonce;   /* random, the same on all ranks */
    uint64_t buckets; /* of one part */
    tern_shape shape;
    uint32_t rank, ranks;
    size_t key_bytes, value_bytes;
    bool call_only;
    bool classic;  /* by the paper's algorithm */
    bool all_near; /* every part has a near address */
    uint64_t (*key_hash)(const void *key, size_t bytes, void *argument);          /* NULL: XXH3 */
    int (*key_equal)(const void *a, const void *b, size_t bytes, void *argument); /* NULL: bytes */
    void *key_argument;
    atomic_bool meets_keys; /* the last insert met its key: the next one looks before it takes */
    tern_part *part;        /* by rank */
    tern_chooser chooser;   /* of TERN_VIA_AUTO, for the kinds below */
    struct tern_parked *parked;      /* batches that wait for a bucket of this part (parked.h) */
    struct tern_requests **requests; /* under way, by worker (requests.h) */
};

/* Kinds of operations that TERN_VIA_AUTO tells apart. MANY is chosen for all ranks at once, under
 * the name of this one. */
enum { TERN_KIND_WRITE, TERN_KIND_READ, TERN_KIND_MANY, TERN_KINDS };

/* A key as it lies in an entry, and its hash. */
typedef struct tern_key {
    uint64_t words[TERN_KEY_MAX / 8];
    uint64_t hash;
} tern_key;

/* Of a key whose words may be unaligned only where XXH3 is the hash. */
static inline uint64_t tern_key_hash(const tern_hashtable *table, const void *key) {
    if (__builtin_expect(table->key_hash == NULL, 1))
        return XXH3_64bits(key, table->key_bytes);
    uint64_t users = table->key_hash(key, table->key_bytes, table->key_argument);
    return XXH3_64bits(&users, sizeof users);
}

/* Copies bytes and pads them with zeros to whole words. */
static inline void tern_words_fill(uint64_t *words, uint32_t count, const void *bytes,
                                   size_t size) {
    if (count == 0)
        return;
    words[count - 1] = 0;
    memcpy(words, bytes, size);
}

static inline void tern_key_load(const tern_hashtable *table, const void *bytes, tern_key *key) {
    tern_words_fill(key->words, table->shape.key_words, bytes, table->key_bytes);
    key->hash = tern_key_hash(table, table->key_hash == NULL ? bytes : key->words);
}

/* Of a key at any address: a hash of the user's gets an aligned copy. */
static inline uint64_t tern_hash_of_bytes(const tern_hashtable *table, const void *bytes) {
    if (__builtin_expect(table->key_hash == NULL, 1))
        return XXH3_64bits(bytes, table->key_bytes);
    tern_key key;
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

static inline uint64_t tern_hash_bucket(const tern_hashtable *table, uint64_t hash) {
    return tern_multiply_high(hash << 32 | hash >> 32, table->buckets);
}

/* Makes all buckets of this rank's part free. Nobody uses them. */
void tern_table_clear(const tern_hashtable *table, char *buckets);

/* Refuses arguments that every operation refuses; name is the function's. */
tern_status tern_hashtable_check(const tern_worker *worker, const tern_hashtable *table,
                                 const void *keys, tern_promise promise, tern_promise excluded,
                                 tern_via via, const char *name);

/* TERN_ERR_UNSUPPORTED unless the table has counters (1) or values (0). */
tern_status tern_hashtable_check_kind(const tern_hashtable *table, int counter, const char *name);

/* Sets the detail of TERN_ERR_FULL and TERN_ERR_NOT_FOUND, and returns status. */
tern_status tern_hashtable_outcome(const tern_hashtable *table, uint32_t owner, tern_status status);

#endif
