#ifndef KMER_FASTA_H
#define KMER_FASTA_H

/*
 * FASTA: lines that begin with '>' are headers; all other lines belong to the sequence of the
 * header above them. A line ends with LF or CR LF. Every byte of a sequence line other than A, C, G
 * and T, of either case, breaks k-mers.
 *
 * A text is read in ranges, each by the rank that owns it. The owner counts the k-mers that start
 * in its range. The last of them end in the text after the range, so kmer_fasta_read is followed by
 * kmer_fasta_read_on with that text, in pieces of any size, until it says that it is done.
 */

#include "sink.h"

typedef enum kmer_fasta_place {
    KMER_FASTA_LINE_START,
    KMER_FASTA_HEADER,
    KMER_FASTA_SEQUENCE,
    KMER_FASTA_AFTER_CR /* in a sequence, after CR: an LF would complete the line end */
} kmer_fasta_place;

typedef struct kmer_fasta {
    kmer_window window;
    kmer_fasta_place place;
    size_t wanted; /* used by kmer_fasta_read_on: number of bases until it is done */
} kmer_fasta;

/* Prepares reading of a range that starts at place. */
void kmer_fasta_init(kmer_fasta *fasta, unsigned k, bool canonical, kmer_fasta_place place);

/* Reads the owned range, or its next piece. Non-zero: the sink ended the reading. */
int kmer_fasta_read(kmer_fasta *fasta, kmer_sink *sink, const char *text, const char *end);

/* Reads the text after the owned range as far as its k-mers reach. [out] done: true if the given
 * text was enough. Non-zero as above. */
int kmer_fasta_read_on(kmer_fasta *fasta, kmer_sink *sink, const char *text, const char *end,
                       bool *done);

/* Returns the place of end, if text is at place. */
kmer_fasta_place kmer_fasta_place_after(kmer_fasta_place place, const char *text, const char *end);

/* Counts the k-mers that start in [from, to) of a whole text. Non-zero as above. */
int kmer_fasta_read_part(kmer_sink *sink, unsigned k, bool canonical, const char *text, size_t size,
                         size_t from, size_t to);

#endif
