#ifndef KMER_PAIRS_H
#define KMER_PAIRS_H

/*
 * Counts outside of the table, in order.
 */

#include <mpi.h>

#include "error.h"
#include "encoding.h"

typedef struct kmer_pair {
    uint64_t kmer, count;
} kmer_pair;

/* Sorts by the low bits of the k-mer. scratch is as large as pairs. */
void kmer_pairs_sort(kmer_pair *pairs, kmer_pair *scratch, size_t count, unsigned bits);

/* Collective. Takes this rank's pairs, from malloc, and gives it others, so that ranks in order
 * hold k-mers in order, about equally many each. A rank's own pairs are in no order. Frees or
 * replaces *pairs. If it fails on one rank, it fails on all. */
int kmer_pairs_exchange(kmer_pair **pairs, size_t *count, MPI_Comm comm, kmer_error *error);

#endif
