#ifndef KMER_TABLE_FILE_H
#define KMER_TABLE_FILE_H

/*
 * The table in a file, compact. All numbers are little-endian.
 *
 *     byte  0  "KMERTAB1"
 *           8  32 bits: k                           12  32 bits: 1 if canonical
 *          16  32 bits: bytes of a k-mer, K         20  32 bits: bytes of a count, C
 *          24  64 bits: records, R                  32  64 bits: sum of the counts
 *          40  24 bytes: 0
 *          64  R records, in no order: a k-mer as encoding.h has it, K bytes; its count, C bytes
 */

#include <stdio.h>

#include "options.h"
#include "outfile.h"
#include "totals.h"

/* Collective, though it may fail on a single rank. Does nothing if file has no name. */
int kmer_table_write(kmer_outfile *file, const kmer_counter *counter, const kmer_totals *totals,
                     const kmer_options *options, MPI_Comm comm, kmer_error *error);

/* Writes lines 'KMER COUNT' of the file called name. */
int kmer_table_print(const char *name, FILE *out, kmer_error *error);

#endif
