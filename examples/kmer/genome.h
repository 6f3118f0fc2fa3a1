#ifndef KMER_GENOME_H
#define KMER_GENOME_H

/*
 * The genome of phage lambda (NC_001416, 48,502 bases) as FASTA, built into the program. kmer
 * counts it if no file is given.
 */

#include <stddef.h>

extern const char kmer_genome_name[];
extern const char kmer_genome[];

size_t kmer_genome_size(void);

#endif
