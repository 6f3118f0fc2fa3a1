#ifndef TERN_HASHTABLE_FILE_H
#define TERN_HASHTABLE_FILE_H

/*
 * Hash tables in files: saved by any number of ranks, loaded by any other. A file says
 * what it holds and carries checksums (XXH3): one that is damaged, cut short, of another program,
 * of a newer version of tern or of a machine with another byte order is refused, and the detail
 * says what is wrong and where. Ranks must reach the file by the same path, which may hold
 * colons. Each rank opens and reads or writes it by calls of the system, not by MPI-IO.
 */

#include "tern/hashtable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over the ranks, one worker of each; blocks. Nobody may change the table meanwhile.
 * The file is written under another name beside path, synced, and renamed when it is whole: a file
 * that is there already stays as it was until then. Only a regular file is replaced. The new one
 * gets its mode and its owner; other hard links to it keep the old content. If path is a symbolic
 * link to a regular file, the link stays and the file it leads to is replaced. An error on one rank
 * is one on all: the new file is removed. Needs memory for one block (256 KiB at most) a rank.
 * TERN_ERR_ARGUMENT: also a path to something else, such as a folder, a device or a link that leads
 * nowhere; TERN_ERR_MISMATCH: the paths differ; TERN_ERR_SYSTEM, and for a folder
 * that is not there TERN_ERR_NOT_FOUND: the file cannot be written (no permission, disk full), or
 * its owner cannot be kept; TERN_ERR_PEER: a rank has died, and path leads to the old file or to
 * the whole new one. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_save(tern_worker *worker, tern_hashtable *table,
                                                        const char *path);

/* Collective over the ranks, one worker of each, which then takes the table's calls; blocks.
 * [out] table: a new one with what the file holds, to be destroyed by tern_hashtable_destroy.
 * options (may be NULL): capacity is raised to what the file takes; call_only, algorithm, grow,
 * key_hash and key_equal count, and are not in the file; key_bytes, value_bytes and counter must be
 * 0 or what the file has. TERN_ERR_ARGUMENT: also a file that is damaged, none of tern's
 * or not a regular file; TERN_ERR_NOT_FOUND: no such file; TERN_ERR_UNSUPPORTED: of a newer version
 * or another byte order; TERN_ERR_SYSTEM: it cannot be read; and as tern_hashtable_create. After an
 * error there is no table.
 */
TERN_NODISCARD TERN_API tern_status tern_hashtable_load(tern_worker *worker, const char *path,
                                                        const tern_hashtable_options *options,
                                                        tern_hashtable **table);

#ifdef __cplusplus
}
#endif

#endif
