#ifndef TERN_HASHTABLE_FILE_IO_H
#define TERN_HASHTABLE_FILE_IO_H

/* What saving and loading share. */

#include <mpi.h>

#include "hashtable/file_format.h"
#include "hashtable/table.h"

/* Collective: refuses arguments, paths that differ, and calls in handlers. ready: whether the
 * caller's other arguments are none that are NULL. */
tern_status tern_file_arguments(tern_worker *worker, bool ready, const char *path,
                                const char *function);

/* Collective: opens path, which is there, with the modes of MPI. Every rank gets the file, or the
 * same error. Each opens it for itself, since MPI's collectives on files block, and a death
 * meanwhile would hang the others. what: for the detail, as in "cannot save to". */
tern_status tern_file_open(tern_worker *worker, const char *path, int mode, const char *what,
                           MPI_File *file);

/* What an MPI-IO operation on path came to. got: the bytes that it moved, of which wanted were due.
 */
tern_status tern_file_outcome(int code, const char *what, const char *path, size_t got,
                              size_t wanted);

/* Bytes of MPI_BYTE that status counts; 0 after an error. */
size_t tern_file_got(int code, const MPI_Status *status);

#endif
