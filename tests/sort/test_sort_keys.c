/* The parts of examples/sort that need no tern, against naive ones. */

#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "examples/sort/keys.h"

enum { MOST = 5000 };

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool same(content a, content b) {
    return a.count == b.count && a.sum == b.sum && a.hashes == b.hashes;
}

/* Radix sort does what qsort does; digits that all keys share and none does. */
static void sorts_as_qsort_does(void) {
    static const uint32_t masks[] = {UINT32_MAX, 0, 1, 0x7ff, 0x003ff800, 0xffc00000, 0x80000001};
    static const size_t counts[] = {0, 1, 2, 3, 100, MOST};
    static uint32_t keys[MOST], scratch[MOST], model[MOST];
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t count = counts[c];
            keys_draw(keys, 0, count, tern_test_seed() + m, KEYS_UNIFORM);
            for (size_t i = 0; i < count; i++)
                keys[i] = (keys[i] & masks[m]) | (0x12345678 & ~masks[m]);
            memcpy(model, keys, count * sizeof *keys);
            qsort(model, count, sizeof *model, compare);
            const uint32_t *sorted = keys_sort(keys, scratch, count);
            CU_ASSERT(sorted == keys || sorted == scratch);
            CU_ASSERT_EQUAL(memcmp(sorted, model, count * sizeof *model), 0);
        }
    }
}

/* Every key lies in the range of its bucket, at the edges too, and buckets are filled in order. */
static void ranges_of_buckets(void) {
    static uint32_t keys[MOST], sorted[MOST];
    size_t start[9];
    for (uint32_t buckets = 1; buckets <= 8; buckets++) {
        CU_ASSERT_EQUAL(bucket_first(0, buckets), 0);
        CU_ASSERT_EQUAL(bucket_first(buckets, buckets), UINT64_C(1) << 32);
        for (uint32_t b = 0; b < buckets; b++) {
            CU_ASSERT_EQUAL(bucket_of((uint32_t)bucket_first(b, buckets), buckets), b);
            CU_ASSERT_EQUAL(bucket_of((uint32_t)(bucket_first(b + 1, buckets) - 1), buckets), b);
        }
        size_t count = buckets == 5 ? 0 : MOST;
        keys_draw(keys, 0, count, buckets, buckets == 4 ? KEYS_NARROW : KEYS_UNIFORM);
        buckets_fill(keys, count, buckets, sorted, start);
        CU_ASSERT_EQUAL(start[0], 0);
        CU_ASSERT_EQUAL(start[buckets], count);
        for (uint32_t b = 0; b < buckets; b++)
            for (size_t i = start[b]; i < start[b + 1]; i++)
                CU_ASSERT_EQUAL(bucket_of(sorted[i], buckets), b);
        CU_ASSERT(same(keys_content(keys, count), keys_content(sorted, count)));
    }
}

/* Errors of keys are noticed. */
static void notices_what_is_wrong(void) {
    static uint32_t keys[MOST];
    keys_draw(keys, 0, MOST, 3, KEYS_UNIFORM);
    qsort(keys, MOST, sizeof *keys, compare);
    uint64_t low = keys[0], high = keys[MOST - 1];
    CU_ASSERT(keys_in_order(keys, 0, 5, 5));
    CU_ASSERT(keys_in_order(keys, MOST, low, high + 1));
    CU_ASSERT_FALSE(keys_in_order(keys, MOST, low + 1, high + 1));
    CU_ASSERT_FALSE(keys_in_order(keys, MOST, low, high));
    content whole = keys_content(keys, MOST);
    CU_ASSERT_FALSE(same(whole, keys_content(keys, MOST - 1)));
    keys[7]++; /* the sum stays the same, the keys do not */
    keys[2000]--;
    CU_ASSERT_EQUAL(whole.sum, keys_content(keys, MOST).sum);
    CU_ASSERT_FALSE(same(whole, keys_content(keys, MOST)));
    uint32_t swapped = keys[10];
    keys[10] = keys[4000];
    keys[4000] = swapped;
    CU_ASSERT_FALSE(keys_in_order(keys, MOST, low, high + 1));
}

/* A key depends on its number and the seed, not on the rank that draws it. */
static void draws_the_same_for_any_ranks(void) {
    static uint32_t keys[MOST], parts[MOST];
    static const distribution distributions[] = {KEYS_UNIFORM, KEYS_EQUAL, KEYS_NARROW};
    for (size_t w = 0; w < 3; w++) {
        keys_draw(keys, 100, MOST, 9, distributions[w]);
        keys_draw(parts, 100, 1234, 9, distributions[w]);
        keys_draw(parts + 1234, 1334, MOST - 1234, 9, distributions[w]);
        CU_ASSERT_EQUAL(memcmp(keys, parts, sizeof keys), 0);
        keys_draw(parts, 100, MOST, 10, distributions[w]);
        CU_ASSERT_NOT_EQUAL(memcmp(keys, parts, sizeof keys), 0);
        CU_ASSERT(distributions[w] != KEYS_EQUAL || (keys[0] == keys[MOST - 1]));
        CU_ASSERT(distributions[w] != KEYS_NARROW || bucket_of(keys[17], 65536) == 65535);
    }
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"sorts_as_qsort_does", sorts_as_qsort_does},
        {"ranges_of_buckets", ranges_of_buckets},
        {"notices_what_is_wrong", notices_what_is_wrong},
        {"draws_the_same_for_any_ranks", draws_the_same_for_any_ranks},
    };
    return tern_test_main(argc, argv, "sort_keys", tests, sizeof tests / sizeof tests[0]);
}
