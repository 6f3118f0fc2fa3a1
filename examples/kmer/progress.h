#ifndef KMER_PROGRESS_H
#define KMER_PROGRESS_H

/*
 * The clock, and a progress bar on standard error. The first rank shows its own share, which
 * progresses as fast as those of the others.
 */

#include <stdbool.h>
#include <stdint.h>

double kmer_now(void);

typedef struct kmer_progress {
    bool wanted, shown;
    double started, drawn; /* times */
    uint64_t total;        /* bytes of input to read */
} kmer_progress;

void kmer_progress_start(kmer_progress *progress, bool wanted, uint64_t total);
/* Draws the bar if it is time to. */
void kmer_progress_update(kmer_progress *progress, uint64_t bytes, uint64_t kmers);
/* Removes the bar. */
void kmer_progress_end(kmer_progress *progress);

#endif
