#ifndef KMER_OPTIONS_H
#define KMER_OPTIONS_H

/*
 * The command line.
 */

#include <stdbool.h>
#include <stdint.h>

#include <tern/container.h>

#include "error.h"

typedef enum kmer_action { KMER_COUNT, KMER_HELP, KMER_VERSION } kmer_action;

typedef struct kmer_options {
    kmer_action action;
    unsigned k;     /* 0: as in the table of load */
    bool canonical; /* false: as in the table of load, if there is one */
    tern_flags via;
    bool via_given;     /* else the transports decide */
    uint64_t capacity;  /* 0: an estimate decides */
    uint64_t min_count; /* 0: all k-mers are shown */
    uint64_t top;       /* most frequent k-mers to list */
    const char *dump;   /* names of files to write, or NULL */
    const char *output;
    const char *histogram;
    const char *spectrum;
    const char *load; /* a file that --output wrote, or NULL */
    bool json;
    bool progress; /* on standard error, even if it is no terminal */
    char **inputs;
    int input_count;
} kmer_options;

/* [out] options: the options. Permutes argv, and keeps its strings. */
int kmer_options_parse(int argc, char **argv, kmer_options *options, kmer_error *error);

enum { KMER_TOP_MOST = 1000000 }; /* of top */

extern const char kmer_options_help[];

#endif
