/* The estimate of how many different k-mers there are. The k-mers are fixed, so its error is. */

// tern-test: unit

#include "harness.h"

#include <math.h>
#include <string.h>

#include "examples/kmer/sketch.h"

/* Adds so many different k-mers of a kind: numbers in a row, or spread over all of 64 bits. */
static void add_some(kmer_sketch *sketch, uint64_t from, uint64_t to, uint64_t step) {
    for (uint64_t i = from; i < to; i++) {
        const uint64_t kmer = i * step;
        kmer_sketch_add(sketch, &kmer, 1);
    }
}

static bool is_near(double estimate, double count) {
    /* Five standard errors. */
    const bool near = fabs(estimate - count) <= 0.04 * count;
    if (!near)
        printf("\n%.0f k-mers are estimated as %.1f\n", count, estimate);
    return near;
}

static void estimates_any_number(void) {
    static const uint64_t steps[] = {1, 4, UINT64_C(0x9e3779b97f4a7c15), UINT64_C(1) << 40};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        kmer_sketch sketch = {{0}};
        uint64_t count = 0;
        CU_ASSERT_EQUAL(kmer_sketch_estimate(&sketch), 0);
        for (uint64_t next = 1; next <= UINT64_C(4) << 20; next *= 4) {
            add_some(&sketch, count, next, steps[i]);
            count = next;
            CU_ASSERT(is_near(kmer_sketch_estimate(&sketch), (double)count));
        }
    }
}

static void counts_a_kmer_once(void) {
    kmer_sketch sketch = {{0}}, again;
    add_some(&sketch, 0, 100000, 1);
    again = sketch;
    add_some(&again, 0, 100000, 1);
    CU_ASSERT_EQUAL(memcmp(&sketch, &again, sizeof sketch), 0);
}

static void sketches_of_parts_make_one(void) {
    kmer_sketch parts[2] = {{{0}}, {{0}}}, whole = {{0}};
    add_some(&parts[0], 0, 200000, 1);
    add_some(&parts[1], 100000, 300000, 1);
    add_some(&whole, 0, 300000, 1);
    for (size_t i = 0; i < KMER_SKETCH_REGISTERS; i++)
        if (parts[0].registers[i] < parts[1].registers[i])
            parts[0].registers[i] = parts[1].registers[i];
    CU_ASSERT_EQUAL(memcmp(&parts[0], &whole, sizeof whole), 0);
}

int main(int argc, char **argv) {
    static const tern_test_case tests[] = {
        {"estimates_any_number", estimates_any_number},
        {"counts_a_kmer_once", counts_a_kmer_once},
        {"sketches_of_parts_make_one", sketches_of_parts_make_one},
    };
    return tern_test_main(argc, argv, "kmer_sketch", tests, sizeof tests / sizeof tests[0]);
}
