#ifndef KMER_GZIP_H
#define KMER_GZIP_H

/*
 * Inflates a gzip file in memory, which may have several members.
 */

#include <stdbool.h>
#include <stddef.h>
#include <zlib.h>

#include "error.h"

typedef struct kmer_gzip {
    z_stream stream;
    const char *name; /* for messages */
    const char *data;
    size_t size;
    size_t at;        /* number of bytes of data that are done */
    bool member_open; /* in the middle of a member */
} kmer_gzip;

bool kmer_gzip_is(const char *data, size_t size);

int kmer_gzip_open(kmer_gzip *gzip, const char *name, const char *data, size_t size,
                   kmer_error *error);

/* [out] got: room bytes, or fewer at the end. Non-zero: the data is not complete. */
int kmer_gzip_read(kmer_gzip *gzip, char *buffer, size_t room, size_t *got, kmer_error *error);

void kmer_gzip_close(kmer_gzip *gzip);

#endif
