#ifndef KMER_REPORT_H
#define KMER_REPORT_H

/*
 * Failing together: every rank learns that one failed, and one line is written.
 */

#include <mpi.h>
#include <stdbool.h>

#include <tern/status.h>

#include "error.h"

/* kmer_fail with tern's text for status. If a peer has died, it writes the line and ends the job,
 * since MPI would wait for the dead rank. */
int kmer_fail_tern(kmer_error *error, tern_status status, const char *what);

/* Collective. Returns whether any rank has failed. */
bool kmer_any(MPI_Comm comm, bool failed);

/* Collective. If ranks have failed, the first of them writes its line. Returns the exit status, the
 * same on all ranks. */
int kmer_report(MPI_Comm comm, const kmer_error *error);

#endif
