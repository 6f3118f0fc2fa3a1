#include "input.h"

/* KMER_GENOME_FILE is the path of lambda.fa as a string literal, set by the build. The assembler
 * puts the file's bytes here. */
__asm__(".pushsection .rodata\n"
        ".global kmer_genome\n"
        ".hidden kmer_genome\n"
        ".hidden kmer_genome_end\n"
        ".global kmer_genome_end\n"
        "kmer_genome:\n"
        ".incbin \"" KMER_GENOME_FILE "\"\n"
        "kmer_genome_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char kmer_genome_end[];

const char kmer_genome_name[] = "lambda phage (built in)";

size_t kmer_genome_size(void) { return (size_t)(kmer_genome_end - kmer_genome); }
