#ifndef KMER_JOB_H
#define KMER_JOB_H

/*
 * A count from beginning to end.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <tern/status.h>

#include "error.h"
#include "options.h"

/* Collective. Returns the exit status, the same on all ranks; a failure has been reported in one
 * line. started: start time of the program. */
int kmer_job_run(const kmer_options *options, MPI_Comm comm, double started);

/*
 * progress.c: the clock, and a progress bar on standard error. The first rank shows its own share,
 * which progresses as fast as those of the others.
 */

double kmer_now(void);

typedef struct kmer_progress {
    bool wanted, shown;
    const char *what;
    double started, drawn; /* times */
    uint64_t total;        /* bytes of input to read */
} kmer_progress;

/* what: written before the bar. */
void kmer_progress_start(kmer_progress *progress, const char *what, bool wanted, uint64_t total);
/* Draws the bar if it is time to. */
void kmer_progress_update(kmer_progress *progress, uint64_t bytes, uint64_t kmers);
/* Removes the bar. */
void kmer_progress_end(kmer_progress *progress);

/* report.c: every rank learns that one failed, and one line is written. */

/* kmer_fail with tern's text for status. If a peer has died, it writes the line and ends the job,
 * since MPI would wait for the dead rank. */
int kmer_fail_tern(kmer_error *error, tern_status status, const char *what);

/* Collective. Returns whether any rank has failed. */
bool kmer_any(MPI_Comm comm, bool failed);

/* Collective. If ranks have failed, the first of them writes its line. Returns the exit status, the
 * same on all ranks. */
int kmer_report(MPI_Comm comm, const kmer_error *error);

#endif
