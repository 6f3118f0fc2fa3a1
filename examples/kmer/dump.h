#ifndef KMER_DUMP_H
#define KMER_DUMP_H

/*
 * The table as text: sorted lines 'KMER COUNT', as `jellyfish dump -c | sort` writes them.
 */

#include "options.h"
#include "outfile.h"
#include "totals.h"

/* Collective, though it may fail on a single rank. Does nothing if file has no name, or if error
 * says on any rank that something has failed before. Takes three times the memory of a rank's
 * k-mers and counts. */
int kmer_dump_write(kmer_outfile *file, const kmer_counter *counter, const kmer_totals *totals,
                    const kmer_options *options, MPI_Comm comm, kmer_error *error);

#endif
