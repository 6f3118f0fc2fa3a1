#ifndef TERN_MAP_MAP_H
#define TERN_MAP_MAP_H

/*
 * A map is a hash table of fixed-size entries. The table's key is a fingerprint of the map's key;
 * the table's value is a descriptor of the map's key and value, in 8-byte words:
 *
 *     0    lengths: bytes of the key (bits 0-31), of the value (32-63)
 *     1..  small: key and value, one right behind the other, padded with zeros
 *
 *     1    large: the rank whose segment holds the block (0-31), tag of the key (32-63)
 *     2           the block's offset there
 *     3           its check
 *
 * The lengths decide whether a descriptor is small or large. A block holds the key, padded to
 * words, and the value.
 *
 * Fingerprint: 128 bits of XXH3, seeded with the table's nonce. The nonce is random and secret, so
 * nobody can construct two keys with the same fingerprint. Tag: 32 bits of another hash. Two
 * different keys that agree in all 160 bits and in their lengths are less likely than a memory
 * error. tern checks for them all the same: a find compares the keys themselves. An insert does not
 * always have the other key at hand; it refuses to replace an entry whose tag shows that the entry
 * belongs to another key.
 *
 * If the program places keys by a part of them, the upper half of the fingerprint's second word is
 * a hash of the number that its function gave, and the table takes that for the number. So the
 * fingerprint tells the owner: handlers and the owner that moves keys do not need the key.
 * 128 bits remain that tell the keys of one number apart.
 *
 * If the program says which keys are the same, fingerprint and tag are made from its digest of a
 * key, and the bytes of two keys are not compared.
 *
 * Check: a hash of the value. Its seed is a hash of the key, seeded with the nonce. The check needs
 * no version. If a find reads a block after it was given back, there are two cases. If the block
 * still has the bytes that the descriptor describes, the map held them when the find read the
 * descriptor, and there the find linearizes. If it has other bytes, the check fails and the find
 * reads the descriptor again. Segments stay mapped as long as the context exists, so a read of
 * memory that belongs to another block by then does no harm.
 */

#include "hashtable/table/table.h"
#include "tern/map.h"
#include "tern/transfer.h"

enum {
    TERN_MAP_FINGERPRINT = 16, /* bytes */
    TERN_MAP_INLINE_MIN = 24,  /* the address and check of a block */
    TERN_MAP_WORDS_MAX = 1 + TERN_MAP_INLINE_MAX / 8
};

struct tern_map {
    tern_context *context;
    tern_hashtable *table; /* its key_argument is the map */
    size_t inline_bytes;
    uint64_t (*key_owner)(const void *key, size_t bytes, void *argument); /* NULL: by the hash */
    void (*key_digest)(const void *key, size_t bytes, uint64_t digest[2], void *argument); /* NULL:
                                                                             the key itself */
    void *key_argument;
};

/* The object kind of a map's table. Handlers check it: a faulty message may name any table. */
extern const char tern_map_kind[];

/* A key with its hashes. bytes is NULL if a message named the key without its bytes. */
typedef struct tern_map_key {
    const void *bytes;
    size_t size;
    uint64_t fingerprint[2];
    uint64_t hash; /* the table's hash of the fingerprint */
    uint64_t seed; /* its lower half is the tag; the seed of the check, if there are no digests */
} tern_map_key;

typedef struct tern_map_descriptor {
    uint64_t words[TERN_MAP_WORDS_MAX];
} tern_map_descriptor;

static inline size_t tern_map_descriptor_words(const tern_map *map) {
    return 1 + map->inline_bytes / 8;
}

/* The first word of a descriptor. */
static inline uint64_t tern_map_lengths(size_t key_bytes, size_t value_bytes) {
    return (uint64_t)value_bytes << 32 | key_bytes;
}
static inline size_t tern_map_descriptor_key_bytes(const uint64_t *d) { return d[0] & UINT32_MAX; }
static inline size_t tern_map_descriptor_value_bytes(const uint64_t *d) { return d[0] >> 32; }

static inline bool tern_map_descriptor_is_small(const tern_map *map, const uint64_t *d) {
    return tern_map_descriptor_key_bytes(d) + tern_map_descriptor_value_bytes(d) <=
           map->inline_bytes;
}

/* The key of a small descriptor, with the value right behind it. */
static inline const char *tern_map_descriptor_small(const uint64_t *d) {
    return (const char *)(d + 1);
}

/* The seed of the check of a key's value. */
static inline uint64_t tern_map_seed(const tern_map *map, const void *key, size_t bytes) {
    return XXH3_64bits_withSeed(key, bytes, ~map->table->nonce);
}

/* The number by which the table places a fingerprint, if the program has an owner function. */
uint64_t tern_map_fingerprint_owner(const void *fingerprint, size_t bytes, void *map);

/* Whether bytes, which agree with key in fingerprint, length and tag, are those of key. */
static inline bool tern_map_key_is(const tern_map *map, const tern_map_key *key,
                                   const void *bytes) {
    return map->key_digest != NULL || memcmp(bytes, key->bytes, key->size) == 0;
}

/* bytes may be NULL if size is 0. */
void tern_map_key_make(const tern_map *map, const void *bytes, size_t size, tern_map_key *key);

/* [out] d: a small descriptor, or a large one without the block's address and check. */
void tern_map_descriptor_make(const tern_map *map, const tern_map_key *key, const void *value,
                              size_t value_bytes, tern_map_descriptor *d);

/* Whether a descriptor with the key's fingerprint has the key's tag too, and its length unless the
 * program says which keys are the same. */
bool tern_map_descriptor_is_of(const tern_map *map, const uint64_t *d, const tern_map_key *key);

/* The first steps of every operation on one key. */

/* Checks the arguments that all operations have. name: the public function, for messages. */
tern_status tern_map_check(const tern_worker *worker, const tern_map *map, const void *key,
                           size_t key_bytes, tern_flags flags, tern_flags excluded,
                           const char *name);

/* Checks a value that is to be stored. */
tern_status tern_map_check_value(const void *value, size_t value_bytes, const char *name);

/* The question that an operation on a key of that owner asks the chooser of its path. It has no
 * sizes, since values that a call does not take go in blocks. */
static inline tern_path_question tern_map_question(tern_worker *worker, const tern_map *map,
                                                   uint32_t owner, tern_path_kind kind,
                                                   tern_flags flags, const char *name) {
    tern_path_question q = tern_table_question(worker, map->table, owner, flags, name);
    q.object = "map";
    q.kind = kind;
    return q;
}

/* Whether this worker is in a handler, or in other code that progress runs. A handler cannot wait
 * for room in a ring to give another rank's block back, so it changes no value that lies in one. */
static inline bool tern_map_in_handler(const tern_worker *worker) {
    return worker->in_handler || worker->in_progress;
}

#endif
