#ifndef KMER_PROGRESS_H
#define KMER_PROGRESS_H

/*
 * The clock, and a bar on standard error for those who wait. The first rank draws its own share,
 * which goes as fast as those of the others.
 */

#include <stdbool.h>
#include <stdint.h>

double kmer_now(void);

typedef struct kmer_progress {
    bool wanted, shown;
    double started, drawn; /* when */
    uint64_t total;        /* bytes of input to go through */
} kmer_progress;

void kmer_progress_start(kmer_progress *progress, bool wanted, uint64_t total);
/* Draws if it is time to. */
void kmer_progress_update(kmer_progress *progress, uint64_t bytes, uint64_t kmers);
/* Wipes the bar away. */
void kmer_progress_end(kmer_progress *progress);

#endif
