#ifndef KMER_TEXTS_H
#define KMER_TEXTS_H

/*
 * Small random FASTA and FASTQ texts with what is hard in them: short lines, blank lines, CR LF,
 * '>' and '@' and '+' where they mean nothing, empty sequences, a last line without its end.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct kmer_text {
    char bytes[2048];
    size_t size;
} kmer_text;

void kmer_text_fasta(kmer_text *text, uint64_t *random);
void kmer_text_fastq(kmer_text *text, uint64_t *random);

/* [out] gzip: the text as gzip of one member or several. Returns its size. */
size_t kmer_text_deflate(const kmer_text *text, uint64_t *random, char *gzip, size_t room);

#endif
