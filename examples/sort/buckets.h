#ifndef SORT_BUCKETS_H
#define SORT_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

/* Buckets: equal ranges of the 2^32 keys, one for each rank. */

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
