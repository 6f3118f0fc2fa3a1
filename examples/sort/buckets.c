#include "keys.h"

#include <string.h>

void buckets_fill(const uint32_t *keys, size_t count, uint32_t buckets, uint32_t *sorted,
                  size_t *start) {
    memset(start, 0, (buckets + (size_t)1) * sizeof *start);
    for (size_t i = 0; i < count; i++)
        start[bucket_of(keys[i], buckets)]++;
    size_t end = 0;
    for (uint32_t b = 0; b <= buckets; b++)
        start[b] = end += start[b];
    /* From the last key to the first: each key lowers the end of its bucket, so the end becomes the
     * start. */
    for (size_t i = count; i-- > 0;)
        sorted[--start[bucket_of(keys[i], buckets)]] = keys[i];
}
