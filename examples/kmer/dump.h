#ifndef KMER_DUMP_H
#define KMER_DUMP_H

/*
 * The table as text: sorted lines 'KMER COUNT', as `jellyfish dump -c | sort` writes them.
 */

#include <mpi.h>

#include "encoding.h"
#include "error.h"
#include "options.h"
#include "outfile.h"
#include "totals.h"

/* Collective, though it may fail on a single rank. Does nothing if file has no name, or if error
 * says on any rank that something has failed before. Takes three times the memory of a rank's
 * k-mers and counts. */
int kmer_dump_write(kmer_outfile *file, const kmer_counter *counter, const kmer_totals *totals,
                    const kmer_options *options, MPI_Comm comm, kmer_error *error);

/* pairs.c: counts outside of the table, in order. */

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
