#ifndef KMER_REPORT_H
#define KMER_REPORT_H

/*
 * Failing together: every rank learns that one failed, and one line is written.
 */

#include <mpi.h>
#include <stdbool.h>

#include <tern/status.h>

#include "error.h"

/* kmer_fail with what tern says about status. The death of a peer is the end: the line is written,
 * and the job ends here, since MPI would wait for the dead. */
int kmer_fail_tern(kmer_error *error, tern_status status, const char *what);

/* Collective. Whether any rank says that it failed. */
bool kmer_any(MPI_Comm comm, bool failed);

/* Collective. If some ranks have failed, the first of them writes its line. Returns the exit
 * status, the same on all. */
int kmer_report(MPI_Comm comm, const kmer_error *error);

#endif
