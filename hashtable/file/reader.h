#ifndef TERN_HASHTABLE_FILE_READER_H
#define TERN_HASHTABLE_FILE_READER_H

/* A file that all ranks read: what loading a table and loading a map share. */

#include "hashtable/file/io.h"

typedef struct tern_file_reader {
    tern_worker *worker;
    const char *path;
    const char *function; /* the public one, for details */
    int file;
    tern_file_header header;
    char *section; /* the one that was read last */
} tern_file_reader;

/* Collective: opens path, which must be a regular file, and checks its header. map: whether it must
 * hold a map, else a table. After an error nothing is open. */
tern_status tern_file_reader_open(tern_file_reader *r, tern_worker *worker, const char *path,
                                  const char *function, bool map);

/* Reads a section and refuses one that is not whole. [out] records: how many it holds. */
tern_status tern_file_reader_take(tern_file_reader *r, uint64_t number, uint64_t *records);

/* Collective: checks that the table has as many keys as the file. */
tern_status tern_file_reader_count(const tern_file_reader *r, tern_hashtable *table);

void tern_file_reader_close(tern_file_reader *r);

#endif
