#ifndef TERN_HASHTABLE_FILE_IO_H
#define TERN_HASHTABLE_FILE_IO_H

/* What saving and loading share. */

#include "hashtable/file/format.h"
#include "hashtable/table/table.h"
#include "tern/status.h"

/* Collective: refuses wrong arguments, paths that differ between ranks, and calls in handlers.
 * others: the status of the caller's check of its other arguments. */
tern_status tern_file_arguments(tern_worker *worker, tern_status others, const char *path,
                                const char *function);

/* Collective: opens path, a file that exists, with these flags of open. Every rank gets the file,
 * or the same error. Each rank opens it for itself, so that a death does not hang the others. what:
 * for the detail, as in "cannot save to". */
tern_status tern_file_open(tern_worker *worker, const char *path, int flags, const char *what,
                           int *file);

/* [out] got: bytes that were read; fewer than bytes if the file ends before. */
tern_status tern_file_read(int file, uint64_t offset, void *to, size_t bytes, const char *what,
                           const char *path, size_t *got);
tern_status tern_file_write(int file, uint64_t offset, const void *from, size_t bytes,
                            const char *path);

/* Reads the header and refuses one that is not whole. what: for the detail, as in "cannot load". */
tern_status tern_file_read_header(int file, const char *path, const char *what,
                                  tern_file_header *header);

/* read.c: what tern_hashtable_file_read and tern_map_file_read share. function: the public one;
 * told: its result, which must not be NULL. */
tern_status tern_file_look(const char *function, const char *path, bool map, const void *told,
                           tern_file_header *header);

/* Returns the status for errno after an operation on path. what: for the detail. */
tern_status tern_file_fail(const char *what, const char *path);

/*
 * target.c: where a file lies, and the new file that takes the place of the one there. Only
 * regular files are read or replaced: a rename would put a file in the place of a device, and
 * opening a FIFO waits for its other side.
 */

/* [out] target: path, or the file that a symbolic link there leads to; the caller frees it. Fails
 * with TERN_ERR_ARGUMENT unless a regular file or nothing is there. what: for the detail, as in
 * "cannot save to". */
tern_status tern_file_target(const char *path, const char *what, char **target);

/* Creates the empty file part, which is to be renamed to target. It gets the mode and the owner of
 * the file at target, if there is one, so no user can read the new file that could not read the old
 * one. Fails with TERN_ERR_SYSTEM, and leaves no file, if this process may not write the file at
 * target, or may not give part its owner; with TERN_ERR_NOT_FOUND if the folder does not exist. */
tern_status tern_file_create(const char *part, const char *target);

#endif
