#ifndef TERN_HASHTABLE_FILE_TARGET_H
#define TERN_HASHTABLE_FILE_TARGET_H

/*
 * Where a table's file lies, and the new file that takes the place of the one there. Only regular
 * files are read or replaced: a rename would put a file in the place of a device, and opening a
 * FIFO waits for its other side.
 */

#include "tern/status.h"

/* [out] target: path, or the file that a symbolic link there leads to; the caller frees it. Fails
 * with TERN_ERR_ARGUMENT unless a regular file or nothing is there. what: for the detail, as in
 * "cannot save to". */
tern_status tern_file_target(const char *path, const char *what, char **target);

/* Creates the empty file part, which is to be renamed to target. It has the mode and the owner of
 * the file at target, if there is one, so nobody reads it who could not read that. Fails with
 * TERN_ERR_SYSTEM, without a file, if this process may not write the file at target or not give
 * part its owner; with TERN_ERR_NOT_FOUND if there is no such folder. */
tern_status tern_file_create(const char *part, const char *target);

#endif
