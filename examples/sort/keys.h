#ifndef SORT_KEYS_H
#define SORT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    KEYS_UNIFORM,
    KEYS_EQUAL, /* all keys are equal */
    KEYS_NARROW /* the uppermost 65,536 numbers: all keys belong to the last rank */
} distribution;

/* [out] keys: the keys number first to first + count - 1 of the sequence of seed. A key depends on
 * its number only, so any number of ranks draws the same keys. */
void keys_draw(uint32_t *keys, uint64_t first, size_t count, uint64_t seed, distribution how);

/* The content of a list of keys, independent of their order: two lists with the same count, sum and
 * sum of hashes are taken to be the same. Contents of several lists add up, word by word. */
typedef struct {
    uint64_t count, sum, hashes;
} content;

content keys_content(const uint32_t *keys, size_t count);

/* Whether keys rise and lie in [low, high). */
bool keys_in_order(const uint32_t *keys, size_t count, uint64_t low, uint64_t high);

/* Sorts keys with scratch memory of the same size. Returns the one of the two that has the sorted
 * keys; the other one's content is undefined. */
uint32_t *keys_sort(uint32_t *keys, uint32_t *scratch, size_t count);

/* buckets.c: buckets are equal ranges of the 2^32 keys, one for each rank. */

static inline uint32_t bucket_of(uint32_t key, uint32_t buckets) {
    return (uint32_t)((uint64_t)key * buckets >> 32);
}

/* The least key of a bucket, rounded up; 2^32 for bucket `buckets`. */
static inline uint64_t bucket_first(uint32_t bucket, uint32_t buckets) {
    return (((uint64_t)bucket << 32) + buckets - 1) / buckets;
}

/* Copies keys to sorted, bucket after bucket. [out] start: buckets + 1 positions in sorted: where
 * each bucket begins, and where the last one ends. */
void buckets_fill(const uint32_t *keys, size_t count, uint32_t buckets, uint32_t *sorted,
                  size_t *start);

#endif
