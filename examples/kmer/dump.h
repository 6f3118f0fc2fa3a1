#ifndef KMER_DUMP_H
#define KMER_DUMP_H

/*
 * The table as text: lines 'KMER COUNT', sorted, as `jellyfish dump -c | sort` writes them.
 */

#include "options.h"
#include "outfile.h"
#include "totals.h"

/* Collective, though it may fail on one rank alone; does nothing if file has no name, or if error
 * says on any rank that something has failed before. Takes memory of three times the k-mers and
 * counts of a rank. */
int kmer_dump_write(kmer_outfile *file, const kmer_counter *counter, const kmer_totals *totals,
                    const kmer_options *options, MPI_Comm comm, kmer_error *error);

#endif
