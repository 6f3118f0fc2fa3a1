#ifndef KMER_TABLE_FILE_H
#define KMER_TABLE_FILE_H

/*
 * The table in a file of tern_hashtable_save. Keys are k-mers as encoding.h has them, counters are
 * counts. The file's note says how they were counted, in letters: "kmer k=21 canonical=0".
 */

#include <stdbool.h>
#include <stdint.h>

#include <tern/tern.h>

#include "error.h"

typedef struct kmer_table_file {
    const char *name; /* NULL: there is no file */
    unsigned k;
    bool canonical;
    uint64_t distinct; /* number of k-mers in the file */
} kmer_table_file;

/* Reads what the file called name says. k 0: any will do, else the file must have this one.
 * canonical: the file must hold canonical k-mers. [out] file. */
int kmer_table_look(kmer_table_file *file, const char *name, unsigned k, bool canonical,
                    kmer_error *error);

/* Collective. Makes a table with the content of file, which has been looked at. */
int kmer_table_load(const kmer_table_file *file, tern_worker *worker,
                    const tern_hashtable_options *options, tern_hashtable **table,
                    kmer_error *error);

/* Collective. Writes the table into a file called name. Does nothing if name is NULL. */
int kmer_table_save(const char *name, tern_worker *worker, tern_hashtable *table, unsigned k,
                    bool canonical, kmer_error *error);

#endif
