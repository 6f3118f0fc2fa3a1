#ifndef KMER_TOTALS_H
#define KMER_TOTALS_H

/*
 * The totals of the counts, and how they are shown.
 */

#include <mpi.h>
#include <stdio.h>

#include "counter.h"

/* Higher counts are shown together, as one count more. */
enum { KMER_HISTOGRAM_TOP = 10000 };

typedef struct kmer_totals {
    uint64_t min_count; /* k-mers that were counted less often are left out of all numbers but these
                           two */
    uint64_t rare, rare_distinct;
    uint64_t kmers, distinct;
    uint64_t unique;         /* k-mers counted once */
    uint64_t largest;        /* largest count */
    uint64_t local_distinct; /* in this rank's part; all other numbers are of the whole table */
    /* On the first rank only: number of k-mers for each count. */
    uint64_t histogram[KMER_HISTOGRAM_TOP + 2];
} kmer_totals;

/* Collective. Fails on all ranks if the table does not hold what was counted. */
int kmer_totals_gather(kmer_totals *totals, uint64_t min_count, const kmer_counter *counter,
                       MPI_Comm comm, kmer_error *error);

/* Writes the histogram as lines 'COUNT K-MERS'. Returns a negative value if it cannot be written,
 * as fprintf does. */
int kmer_totals_write_histogram(const kmer_totals *totals, FILE *out);

/* Shows a few lines of the histogram. */
void kmer_totals_show_histogram(const kmer_totals *totals, FILE *out);

/* Writes 1234567 as 1,234,567. text has room for 32 bytes. */
const char *kmer_commas(uint64_t number, char *text);

#endif
