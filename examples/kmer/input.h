#ifndef KMER_INPUT_H
#define KMER_INPUT_H

/*
 * An input: FASTA or FASTQ, plain or gzip, told apart by content. Files are mapped, not read: a
 * rank touches its part of a plain one, without a copy. (A file that somebody shortens meanwhile
 * ends the program with SIGBUS.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "sink.h"

typedef struct kmer_input {
    const char *name;
    const char *data;
    size_t size;
    bool mapped;
    bool gzip;
    bool fastq;   /* else FASTA */
    size_t block; /* inflated text of which a rank owns every so many-th block */
} kmer_input;

/* Opens the file, or the genome built into the program if name is NULL. */
int kmer_input_open(kmer_input *input, const char *name, kmer_error *error);
void kmer_input_close(kmer_input *input);

/* [out] bases: at least so many as the input has; a little more than it probably has if it is a
 * gzip file too large to be inflated for this alone. */
int kmer_input_bases(const kmer_input *input, uint64_t *bases, kmer_error *error);

/* Puts the k-mers of part (0 to parts - 1) of the input into the sink. All parts together hold each
 * k-mer once. Over the parts, sink->bytes grows by input->size. Non-zero: the sink ended the
 * reading, or error says what is wrong with the input. */
int kmer_input_read(const kmer_input *input, unsigned k, bool canonical, unsigned part,
                    unsigned parts, kmer_sink *sink, kmer_error *error);

#endif
