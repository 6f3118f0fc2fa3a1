#ifndef KMER_TOTALS_H
#define KMER_TOTALS_H

/*
 * What the counts add up to, and how it is shown.
 */

#include <mpi.h>
#include <stdio.h>

#include "counter.h"

/* Counts above this are taken together, as one count more. */
enum { KMER_HISTOGRAM_TOP = 10000 };

typedef struct kmer_totals {
    uint64_t kmers, distinct;
    uint64_t unique;         /* counted once */
    uint64_t largest;        /* count */
    uint64_t local_distinct; /* of this rank's part; all others are of the whole table */
    /* First rank only: how many k-mers have a count. */
    uint64_t histogram[KMER_HISTOGRAM_TOP + 2];
} kmer_totals;

/* Collective. Fails on all ranks if the table does not hold what was counted. */
int kmer_totals_gather(kmer_totals *totals, const kmer_counter *counter, MPI_Comm comm,
                       kmer_error *error);

/* The histogram as lines 'COUNT K-MERS'. Returns like fprintf: negative if it cannot be written. */
int kmer_totals_write_histogram(const kmer_totals *totals, FILE *out);

/* A few lines of it, for people. */
void kmer_totals_show_histogram(const kmer_totals *totals, FILE *out);

/* 1234567 as 1,234,567. text holds 32 bytes. */
const char *kmer_commas(uint64_t number, char *text);

#endif
