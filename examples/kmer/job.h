#ifndef KMER_JOB_H
#define KMER_JOB_H

/*
 * A count from beginning to end.
 */

#include <mpi.h>

#include "options.h"

/* Collective. Returns the exit status, the same on all ranks; a failure has been reported in one
 * line. started: start time of the program. */
int kmer_job_run(const kmer_options *options, MPI_Comm comm, double started);

#endif
