#ifndef KMER_FASTA_H
#define KMER_FASTA_H

/*
 * FASTA: lines that begin with '>' are headers, all others belong to the sequence of the header
 * above them. A line ends with LF or CR LF. Every byte of a sequence line that is no A, C, G or T,
 * of either case, breaks k-mers.
 *
 * A text is read in ranges, each by the rank that owns it. The owner counts the k-mers that start
 * in its range; the last of them end in the text after it, so that kmer_fasta_read is followed by
 * kmer_fasta_read_on with what comes next, in pieces of any size, until that says it is done.
 */

#include "sink.h"

typedef enum kmer_fasta_place {
    KMER_FASTA_LINE_START,
    KMER_FASTA_HEADER,
    KMER_FASTA_SEQUENCE,
    KMER_FASTA_AFTER_CR /* in a sequence: the LF that makes it a line end is yet to come */
} kmer_fasta_place;

typedef struct kmer_fasta {
    kmer_window window;
    kmer_fasta_place place;
    size_t wanted; /* by kmer_fasta_read_on: bases until it is done */
} kmer_fasta;

/* Ready to own a range that starts at place. */
void kmer_fasta_init(kmer_fasta *fasta, unsigned k, bool canonical, kmer_fasta_place place);

/* Reads the owned range, or its next piece. Non-zero: the sink ended the reading. */
int kmer_fasta_read(kmer_fasta *fasta, kmer_sink *sink, const char *text, const char *end);

/* Reads of what comes after the owned range as far as its k-mers reach. [out] done: true if the
 * text given was enough. Non-zero as above. */
int kmer_fasta_read_on(kmer_fasta *fasta, kmer_sink *sink, const char *text, const char *end,
                       bool *done);

/* Where end is, if text is at place. */
kmer_fasta_place kmer_fasta_place_after(kmer_fasta_place place, const char *text, const char *end);

/* Counts the k-mers that start in [from, to) of a whole text. Non-zero as above. */
int kmer_fasta_read_part(kmer_sink *sink, unsigned k, bool canonical, const char *text, size_t size,
                         size_t from, size_t to);

#endif
