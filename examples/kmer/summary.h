#ifndef KMER_SUMMARY_H
#define KMER_SUMMARY_H

/*
 * The summary at the end, for people or for programs.
 */

#include <stdio.h>

#include "counter.h"
#include "options.h"
#include "top.h"
#include "totals.h"

typedef struct kmer_times {
    double start; /* from the start of the program to the table, with the estimate of its size */
    double read;  /* from input to k-mers */
    double count; /* in the table's operations */
    double write; /* totals and files */
    double total;
    double resident_bytes; /* the most memory that the rank had; what it shares counts in full */
} kmer_times;

typedef struct kmer_summary {
    const kmer_options *options;
    const kmer_counter *counter;
    const kmer_totals *totals;
    const kmer_top *top;
    kmer_times times;
    int inputs;
    const char *first_input;
} kmer_summary;

int kmer_summary_write(const kmer_summary *summary, FILE *out, kmer_error *error);

#endif
