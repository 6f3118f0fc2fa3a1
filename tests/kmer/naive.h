#ifndef KMER_NAIVE_H
#define KMER_NAIVE_H

/*
 * K-mers as anybody would count them first: on strings, with no window, no table and no parts. What
 * examples/kmer does is compared with this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers, appended. */
typedef struct kmer_list {
    uint64_t *keys;
    size_t count, capacity;
} kmer_list;

void kmer_list_append(kmer_list *list, uint64_t key);
void kmer_list_free(kmer_list *list);
/* Whether both hold the same numbers, each equally often. Sorts them. */
bool kmer_list_same(kmer_list *a, kmer_list *b);

/* The k-mers of the bases at sequence; all other bytes break them. */
void kmer_naive_sequence(kmer_list *list, const char *sequence, size_t size, unsigned k,
                         bool canonical);
/* Of the records of a well-formed text. */
void kmer_naive_fasta(kmer_list *list, const char *text, size_t size, unsigned k, bool canonical);
void kmer_naive_fastq(kmer_list *list, const char *text, size_t size, unsigned k, bool canonical);

/*
 * texts.c: small random FASTA and FASTQ texts with what is hard in them: short lines, blank lines,
 * CR LF, '>' and '@' and '+' where they mean nothing, empty sequences, a last line without its end.
 */

typedef struct kmer_text {
    char bytes[2048];
    size_t size;
} kmer_text;

void kmer_text_fasta(kmer_text *text, uint64_t *random);
void kmer_text_fastq(kmer_text *text, uint64_t *random);

/* [out] gzip: the text as gzip of one member or several. Returns its size. */
size_t kmer_text_deflate(const kmer_text *text, uint64_t *random, char *gzip, size_t room);

#endif
