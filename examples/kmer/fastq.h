#ifndef KMER_FASTQ_H
#define KMER_FASTQ_H

/*
 * FASTQ in records of four lines: '@' and a name, the sequence, '+' and anything, as many qualities
 * as the sequence has letters. A line ends with LF or CR LF; the last one may lack it; between
 * records there may be blank lines. Sequences over several lines are refused: since '@' and '+' are
 * qualities too, nobody could find the start of a record in the middle of such a file.
 *
 * In this form it can be found: a line that begins with '@' is the first of a record exactly if the
 * second line after it begins with '+'. (If it is a line of qualities instead, that second line is
 * a sequence, which never begins with '+'.)
 *
 * A text is read in ranges, each by the rank that owns it. The owner counts the records that start
 * in its range, to their ends.
 */

#include "error.h"
#include "sink.h"

typedef struct kmer_fastq {
    kmer_window window;
    unsigned line;                   /* 0 to 3: of the record */
    bool fresh;                      /* at the start of that line */
    bool counts;                     /* the record's k-mers are counted */
    bool blank;                      /* line 0, but a blank one between records */
    bool after_cr;                   /* the last byte was CR */
    uint64_t letters;                /* in the sequence of this record */
    uint64_t bytes;                  /* in this line, CR included */
    uint64_t lines;                  /* read before this one */
    const char *name;                /* of the input, for messages */
    const char *before, *before_end; /* text of the input that was not read */
} kmer_fastq;

/* At the start of a record, which the text from before to before_end precedes. */
void kmer_fastq_init(kmer_fastq *fastq, unsigned k, bool canonical, const char *name,
                     const char *before, const char *before_end);

/* Reads the next piece of the text. Records that start in it are counted if owned, otherwise
 * checked. Non-zero: the sink ended the reading, or error says what is wrong with the text. */
int kmer_fastq_read(kmer_fastq *fastq, kmer_sink *sink, const char *text, const char *end,
                    bool owned, kmer_error *error);

/* The text has ended. Non-zero: in the middle of a record. */
int kmer_fastq_finish(const kmer_fastq *fastq, kmer_error *error);

/* Where the first record starts that starts at from or after; size if none does. */
size_t kmer_fastq_find(const char *text, size_t size, size_t from);

/* Counts the k-mers of the records that start in [from, to) of a whole text; from 0 to its size all
 * ranges together check all of it. Non-zero as above. */
int kmer_fastq_read_part(kmer_sink *sink, unsigned k, bool canonical, const char *name,
                         const char *text, size_t size, size_t from, size_t to, kmer_error *error);

#endif
