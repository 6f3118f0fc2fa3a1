#ifndef KMER_ERROR_H
#define KMER_ERROR_H

/*
 * What went wrong, kept as one line until all ranks know: functions that fail fill it in and return
 * -1; kmer_report.h then prints the line once.
 */

typedef enum kmer_exit { KMER_OK, KMER_FAILED, KMER_USAGE } kmer_exit;

typedef struct kmer_error {
    kmer_exit exit; /* KMER_OK: nothing went wrong here */
    char text[1024];
} kmer_error;

/* Sets the line and returns -1. The first one stays. */
int kmer_fail(kmer_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a bad option, whose exit status is another. */
int kmer_fail_usage(kmer_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a system call that failed: "cannot VERB NAME: why". */
int kmer_fail_system(kmer_error *error, const char *verb, const char *name);

#endif
