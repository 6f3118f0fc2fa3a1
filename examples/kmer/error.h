#ifndef KMER_ERROR_H
#define KMER_ERROR_H

/*
 * The reason of a failure, kept as one line until all ranks know of it. A function that fails fills
 * it in and returns -1; kmer_report then prints the line once.
 */

typedef enum kmer_exit { KMER_OK, KMER_FAILED, KMER_USAGE } kmer_exit;

typedef struct kmer_error {
    kmer_exit exit; /* KMER_OK: no failure here */
    char text[1024];
} kmer_error;

/* Sets the line, unless there is one already, and returns -1. */
int kmer_fail(kmer_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a bad option, which has another exit status. */
int kmer_fail_usage(kmer_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a failed system call: "cannot VERB NAME: reason". */
int kmer_fail_system(kmer_error *error, const char *verb, const char *name);

#endif
