#ifndef SORT_KEYS_H
#define SORT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    KEYS_UNIFORM,
    KEYS_EQUAL, /* all the same one */
    KEYS_NARROW /* the uppermost 65,536 numbers: all belong to the last rank */
} distribution;

/* [out] keys: those numbered first to first + count - 1 of the sequence that seed stands for. A key
 * depends on its number alone, so any number of ranks draws the same ones. */
void keys_draw(uint32_t *keys, uint64_t first, size_t count, uint64_t seed, distribution how);

/* What keys hold, whatever their order: two lists with the same count, sum and sum of hashes are
 * taken for the same. Contents add up, word by word. */
typedef struct {
    uint64_t count, sum, hashes;
} content;

content keys_content(const uint32_t *keys, size_t count);

/* Whether keys rise and lie in [low, high). */
bool keys_in_order(const uint32_t *keys, size_t count, uint64_t low, uint64_t high);

/* Sorts keys with the help of as much scratch memory; returns that of the two where the sorted keys
 * are, the other holds nothing of use. */
uint32_t *keys_sort(uint32_t *keys, uint32_t *scratch, size_t count);

#endif
