#ifndef KMER_OUTFILE_H
#define KMER_OUTFILE_H

/*
 * A file that all ranks write together, each its own ranges of bytes. It grows beside its final
 * name, as NAME.PID.part, and gets the name when it is complete, so that nobody uses half a file.
 * The ranks need a file system that they share.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

typedef struct kmer_outfile {
    const char *name; /* NULL: no file is wanted, and all functions do nothing */
    char part[PATH_MAX];
    int fd;
    bool created; /* by this rank, the first */
} kmer_outfile;

/* The first rank creates the file. */
int kmer_outfile_create(kmer_outfile *file, const char *name, kmer_error *error);
/* Whether this process could create the file now: creates it and removes it. */
int kmer_outfile_probe(const char *name, kmer_error *error);
/* All other ranks open the same file. part: the name that the first rank has in part. */
int kmer_outfile_join(kmer_outfile *file, const char *name, const char *part, kmer_error *error);

int kmer_outfile_write(kmer_outfile *file, const void *data, size_t size, uint64_t offset,
                       kmer_error *error);

/* Called after the last write of this rank. */
int kmer_outfile_close(kmer_outfile *file, kmer_error *error);

/* Called after all ranks have closed the file: gives it its name. Only the first rank does
 * anything. */
int kmer_outfile_commit(kmer_outfile *file, kmer_error *error);

/* Removes a file that was not committed. */
void kmer_outfile_discard(kmer_outfile *file);

#endif
