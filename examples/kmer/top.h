#ifndef KMER_TOP_H
#define KMER_TOP_H

/*
 * The most frequent k-mers, in order: the highest count first, and of equal counts the least k-mer.
 */

#include "dump.h"

typedef struct kmer_top {
    kmer_pair *pairs; /* on the first rank; the caller frees it */
    size_t count;
} kmer_top;

/* Collective. Finds the first most k-mers, fewer if the table has fewer that were
 * counted min_count times; does nothing if most is 0.
 * If it fails on one rank, it fails on all. */
int kmer_top_gather(kmer_top *top, uint64_t most, uint64_t min_count, const kmer_counter *counter,
                    MPI_Comm comm, kmer_error *error);

#endif
