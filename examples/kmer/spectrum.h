#ifndef KMER_SPECTRUM_H
#define KMER_SPECTRUM_H

/*
 * A picture of the histogram, which gnuplot draws: how many k-mers there are of each count. The
 * environment variable GNUPLOT may name another program.
 */

#include "options.h"
#include "outfile.h"
#include "totals.h"

/* Called by the first rank before it counts: fails if there is no gnuplot. Does nothing if name is
 * NULL. */
int kmer_spectrum_probe(const char *name, kmer_error *error);

/* Called by the rank that has created the file. */
int kmer_spectrum_write(const kmer_outfile *file, const kmer_totals *totals, unsigned k,
                        kmer_error *error);

/* Whether the name ends with .svg or .png. */
bool kmer_spectrum_takes(const char *name);

#endif
