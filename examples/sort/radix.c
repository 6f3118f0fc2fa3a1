#include "keys.h"

#include <string.h>

/*
 * Radix sort, the least significant digit first. There are three digits of 11 bits: their 2,048
 * counters stay in the first-level cache. Two passes of 16 bits would write to more places than
 * that cache and the TLB hold. The keys of one rank have some upper bits in common; a digit that is
 * the same in all keys is skipped.
 */
enum { DIGITS = 3, BITS = 11, VALUES = 1 << BITS };

static inline uint32_t digit_of(uint32_t key, int digit) {
    return key >> (digit * BITS) & (VALUES - 1);
}

/* [out] counts: for each digit, how many keys have each value. */
static void count_digits(const uint32_t *keys, size_t count, size_t counts[DIGITS][VALUES]) {
    memset(counts, 0, DIGITS * sizeof counts[0]);
    for (size_t i = 0; i < count; i++)
        for (int digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(keys[i], digit)]++;
}

/* Copies keys in the order of one digit. Keys with the same value keep their order. */
static void order(const uint32_t *from, uint32_t *to, size_t count, int digit, size_t *place) {
    size_t next = 0;
    for (size_t value = 0; value < VALUES; value++) {
        size_t have = place[value];
        place[value] = next;
        next += have;
    }
    for (size_t i = 0; i < count; i++)
        to[place[digit_of(from[i], digit)]++] = from[i];
}

uint32_t *keys_sort(uint32_t *keys, uint32_t *scratch, size_t count) {
    size_t counts[DIGITS][VALUES];
    count_digits(keys, count, counts);
    for (int digit = 0; digit < DIGITS && count > 0; digit++) {
        if (counts[digit][digit_of(keys[0], digit)] == count)
            continue;
        order(keys, scratch, count, digit, counts[digit]);
        uint32_t *sorted = scratch;
        scratch = keys;
        keys = sorted;
    }
    return keys;
}
