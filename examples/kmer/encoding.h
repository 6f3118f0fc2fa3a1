#ifndef KMER_ENCODING_H
#define KMER_ENCODING_H

/*
 * A k-mer is a number of 2k bits with A 0, C 1, G 2, T 3 and the first base highest: numbers sort
 * as their texts do, and the complement of a base is 3 minus the base. A window slides over the
 * bases of a sequence and keeps the k-mer that ends at the last base, and its reverse complement.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KMER_LONGEST = 32 };

typedef struct kmer_window {
    uint64_t forward;
    uint64_t reverse; /* the reverse complement of forward */
    uint64_t mask;    /* the low 2k bits */
    unsigned k;
    unsigned filled; /* number of bases in the window, up to k */
    bool canonical;  /* return the smaller of forward and reverse */
} kmer_window;

void kmer_window_init(kmer_window *window, unsigned k, bool canonical);

/* Something that is no base (an N, a header) follows: no k-mer spans it. */
static inline void kmer_window_break(kmer_window *window) { window->filled = 0; }

/* Takes the bases of either case from text until end or the first byte that is no base, and appends
 * each k-mer that they complete to keys, which has room for end - text more. Returns where it
 * stopped. */
const char *kmer_window_take(kmer_window *window, const char *text, const char *end, uint64_t *keys,
                             size_t *count);

/* Writes k letters without a final zero. */
void kmer_write(uint64_t kmer, unsigned k, char *text);

/* Returns the number of k-mers, canonical or all; UINT64_MAX if it does not fit. */
uint64_t kmer_how_many(unsigned k, bool canonical);

#endif
