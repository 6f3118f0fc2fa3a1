#ifndef KMER_OPTIONS_H
#define KMER_OPTIONS_H

/*
 * The command line.
 */

#include <stdbool.h>
#include <stdint.h>

#include <tern/promise.h>

#include "error.h"

typedef enum kmer_action { KMER_COUNT, KMER_PRINT, KMER_HELP, KMER_VERSION } kmer_action;

typedef struct kmer_options {
    kmer_action action;
    unsigned k;
    bool canonical;
    tern_via via;
    bool via_given;    /* else by what the transports are */
    uint64_t capacity; /* 0: by the size of the input */
    const char *dump;  /* names of files to write, or NULL */
    const char *output;
    const char *histogram;
    const char *print; /* a file that --output wrote */
    bool json;
    bool progress; /* on standard error, terminal or not */
    char **inputs;
    int input_count;
} kmer_options;

/* [out] options. Permutes argv; its strings are kept. */
int kmer_options_parse(int argc, char **argv, kmer_options *options, kmer_error *error);

extern const char kmer_options_help[];

#endif
