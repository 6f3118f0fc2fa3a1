#ifndef KMER_INPUT_H
#define KMER_INPUT_H

/*
 * An input: FASTA or FASTQ, plain or gzip, recognized by its content. Files are mapped, not read,
 * so a rank touches its part of a plain file without a copy, and gives back the pages that it has
 * read. (If the file is shortened meanwhile, the program ends with SIGBUS.)
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
    size_t block; /* size of a block of inflated text; the ranks own the blocks in turn */
} kmer_input;

/* Opens the file, or the built-in genome if name is NULL. */
int kmer_input_open(kmer_input *input, const char *name, kmer_error *error);
void kmer_input_close(kmer_input *input);

/* Puts the k-mers of part (0 to parts - 1) of the input into the sink. All parts together hold each
 * k-mer once. Over all parts, sink->bytes grows by input->size. Non-zero: the sink ended the
 * reading, or error has the fault of the input. */
int kmer_input_read(const kmer_input *input, unsigned k, bool canonical, unsigned part,
                    unsigned parts, kmer_sink *sink, kmer_error *error);

/*
 * genome.c: the genome of phage lambda (NC_001416, 48,502 bases) as FASTA, built into the program.
 * kmer counts it if no file is given.
 */

extern const char kmer_genome_name[];
extern const char kmer_genome[];

size_t kmer_genome_size(void);

#endif
