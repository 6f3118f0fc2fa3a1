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

#endif
