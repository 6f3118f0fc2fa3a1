#ifndef TERN_HASHTABLE_FILE_H
#define TERN_HASHTABLE_FILE_H

/*
 * Hash tables in files: saved by any number of ranks, loaded by any other. A file says
 * what it holds and carries checksums (XXH3): one that is damaged, cut short, of another program,
 * of another version of the format or of a machine with another byte order is refused, and the
 * detail says what is wrong and where. Ranks must reach the file by the same path, which may hold
 * colons. Each rank opens and reads or writes it by calls of the system, not by MPI-IO.
 *
 * A note is what the application says about the table: up to TERN_NOTE_MAX bytes, such as the
 * version of its keys or the options that they were made with. It lies in the file's header, under
 * the header's checksum, and tern does not look into it. Text is a good choice, since it has no
 * padding and no byte order.
 */

#include "tern/hashtable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most bytes of a note. */
#define TERN_NOTE_MAX 256

/* What a file says about the table in it. */
typedef struct tern_hashtable_file {
    size_t key_bytes, value_bytes;
    int counter;
    uint64_t keys;
    size_t note_bytes;
    unsigned char note[TERN_NOTE_MAX + 1]; /* zeros follow the note, so text ends with a zero */
} tern_hashtable_file;

/* Collective over the ranks, one worker of each; blocks. Nobody may change the table meanwhile.
 * note, note_bytes: the application's note, the same on every rank; NULL and 0 if there is none.
 * The file is written under another name beside path, synced, and renamed when it is whole: a file
 * that is there already stays as it was until then. Only a regular file is replaced. The new one
 * gets its mode and its owner; other hard links to it keep the old content. If path is a symbolic
 * link to a regular file, the link stays and the file it leads to is replaced. An error on one rank
 * is one on all: the new file is removed. Needs memory for one block (256 KiB at most) a rank.
 * TERN_ERR_ARGUMENT: also a note of more than TERN_NOTE_MAX bytes, and a path to something else,
 * such as a folder, a device or a link that leads nowhere; TERN_ERR_MISMATCH: the paths or the
 * notes differ; TERN_ERR_SYSTEM, and for a folder that is not there TERN_ERR_NOT_FOUND: the file
 * cannot be written (no permission, disk full, larger than RLIMIT_FSIZE), or its owner cannot be
 * kept; TERN_ERR_PEER: a rank has died, and path leads to the old file or to the whole new one. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_save(tern_worker *worker, tern_hashtable *table,
                                                        const char *path, const void *note,
                                                        size_t note_bytes);

/* Collective over the ranks, one worker of each, which then takes the table's calls; blocks.
 * [out] table: a new one with what the file holds, to be destroyed by tern_hashtable_destroy.
 * options (may be NULL): capacity is raised to what the file takes; call_only, grow, key_hash,
 * key_equal and key_owner count, and are not in the file; key_bytes, value_bytes and counter must
 * be 0 or what the file has. [out] file (may be NULL): what the file that was loaded says.
 * TERN_ERR_ARGUMENT: also a file that is damaged, none of tern's or not a regular file, or that
 * holds a map (tern/map_file.h);
 * TERN_ERR_NOT_FOUND: no such file; TERN_ERR_UNSUPPORTED: of another version of the format or
 * another byte order; TERN_ERR_SYSTEM: it cannot be read; and as tern_hashtable_create. After an
 * error there is no table, but for TERN_ERR_PEER, after which others may have one, as there. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_load(tern_worker *worker, const char *path,
                                                        const tern_hashtable_options *options,
                                                        tern_hashtable_file *file,
                                                        tern_hashtable **table);

/* Reads what a file says about its table, and not the table. So a program can choose
 * tern_config.segment_size by the number of keys before it creates its context, and look at the
 * note before it takes time to load. Local; needs no context and no MPI; any thread, handlers too.
 * Checks the header and the file's size, not the keys. Another program may replace the file before
 * it is loaded: compare with what tern_hashtable_load says. [out] file.
 * TERN_ERR_ARGUMENT, TERN_ERR_NOT_FOUND, TERN_ERR_UNSUPPORTED: as tern_hashtable_load;
 * TERN_ERR_SYSTEM: it cannot be read. */
TERN_NODISCARD TERN_API tern_status tern_hashtable_file_read(const char *path,
                                                             tern_hashtable_file *file);

#ifdef __cplusplus
}
#endif

#endif
