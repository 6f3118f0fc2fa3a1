#ifndef KMER_FASTQ_H
#define KMER_FASTQ_H

/*
 * FASTQ in records of four lines: '@' and a name; the sequence; '+' and any text; as many qualities
 * as the sequence has letters. A line ends with LF or CR LF; the last line may lack it; blank lines
 * between records are allowed. Sequences over several lines are refused: since '@' and '+' are also
 * qualities, the start of a record could not be found in the middle of such a file.
 *
 * In the four-line form it can be found: a line that begins with '@' is the first of a record
 * exactly if the second line after it begins with '+'. (If it is a line of qualities instead, that
 * second line is a sequence, which never begins with '+'.)
 *
 * A text is read in ranges, each by the rank that owns it. The owner counts the records that start
 * in its range, to their ends.
 */

#include "error.h"
#include "sink.h"

typedef struct kmer_fastq {
    kmer_window window;
    unsigned line;                   /* line of the record, 0 to 3 */
    bool fresh;                      /* at the start of that line */
    bool counts;                     /* the record's k-mers are counted */
    bool blank;                      /* line 0 is blank so far: it may lie between records */
    bool after_cr;                   /* the last byte was CR */
    uint64_t letters;                /* number in the sequence of this record */
    uint64_t bytes;                  /* number in this line, including CR */
    uint64_t lines;                  /* number of lines before this one */
    const char *name;                /* name of the input, for messages */
    const char *before, *before_end; /* text of the input that was not read */
} kmer_fastq;

/* Starts at a record; the text from before to before_end precedes it. */
void kmer_fastq_init(kmer_fastq *fastq, unsigned k, bool canonical, const char *name,
                     const char *before, const char *before_end);

/* Reads the next piece of the text. Records that start in it are counted if owned, and checked
 * otherwise. Non-zero: the sink ended the reading, or error has the fault of the text. */
int kmer_fastq_read(kmer_fastq *fastq, kmer_sink *sink, const char *text, const char *end,
                    bool owned, kmer_error *error);

/* Ends the text. Non-zero: it ended in the middle of a record. */
int kmer_fastq_finish(const kmer_fastq *fastq, kmer_error *error);

/* Returns where the first record starts that starts at from or after; size if no record does. */
size_t kmer_fastq_find(const char *text, size_t size, size_t from);

/* Counts the k-mers of the records that start in [from, to) of a whole text. All ranges from 0 to
 * its size together check all of it. Non-zero as above. */
int kmer_fastq_read_part(kmer_sink *sink, unsigned k, bool canonical, const char *name,
                         const char *text, size_t size, size_t from, size_t to, kmer_error *error);

#endif
