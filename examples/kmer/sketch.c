#include "sketch.h"

#include <math.h>

/* The hash of a register's k-mers has so many bits left; so many zeros can be at its beginning. */
enum { REST = 64 - KMER_SKETCH_BITS };

/* The finalizer of MurmurHash3 (A. Appleby, public domain): each bit of the result depends on all
 * bits of the k-mer. */
static inline uint64_t sketch_hash(uint64_t kmer) {
    kmer ^= kmer >> 33;
    kmer *= UINT64_C(0xff51afd7ed558ccd);
    kmer ^= kmer >> 33;
    kmer *= UINT64_C(0xc4ceb9fe1a85ec53);
    return kmer ^ kmer >> 33;
}

void kmer_sketch_add(kmer_sketch *sketch, const uint64_t *kmers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = sketch_hash(kmers[i]);
        unsigned char *reg = &sketch->registers[hash >> REST];
        /* The bit behind the rest ends the zeros. */
        const uint64_t rest = hash << KMER_SKETCH_BITS | UINT64_C(1) << (KMER_SKETCH_BITS - 1);
        const unsigned char zeros = (unsigned char)(__builtin_clzll(rest) + 1);
        if (zeros > *reg)
            *reg = zeros;
    }
}

/* x + x^2 + 2 x^4 + 4 x^8 + ... */
static double sketch_sigma(double x) {
    double sum = x, before = 0, factor = 1;
    while (sum > before) {
        x *= x;
        before = sum;
        sum += x * factor;
        factor *= 2;
    }
    return sum;
}

/* A third of 1 - x - (1 - x^(1/2))^2 / 2 - (1 - x^(1/4))^2 / 4 - ... */
static double sketch_tau(double x) {
    if (x <= 0 || x >= 1)
        return 0;
    double sum = 1 - x, before = 2, factor = 1;
    while (sum < before) {
        x = sqrt(x);
        before = sum;
        factor /= 2;
        sum -= (1 - x) * (1 - x) * factor;
    }
    return sum / 3;
}

double kmer_sketch_estimate(const kmer_sketch *sketch) {
    const double registers = KMER_SKETCH_REGISTERS, ln2 = 0.69314718055994530942;
    unsigned of[REST + 2] = {0}; /* registers of each value */
    for (size_t i = 0; i < KMER_SKETCH_REGISTERS; i++)
        of[sketch->registers[i]]++;
    if (of[0] == KMER_SKETCH_REGISTERS)
        return 0;
    double sum = registers * sketch_tau(1 - of[REST + 1] / registers);
    for (unsigned value = REST; value >= 1; value--)
        sum = (sum + of[value]) / 2;
    sum += registers * sketch_sigma(of[0] / registers);
    return registers * registers / (2 * ln2 * sum);
}
