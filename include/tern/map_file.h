#ifndef TERN_MAP_FILE_H
#define TERN_MAP_FILE_H

/*
 * Maps in files: saved by any number of ranks, loaded by any other. Checksums, versions, notes and
 * paths are as in tern/hashtable_file.h.
 */

#include "tern/hashtable_file.h"
#include "tern/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file says about the map in it. */
typedef struct tern_map_file {
    uint64_t keys;
    uint64_t key_bytes, value_bytes; /* of all keys together, and of all values */
    size_t note_bytes;
    unsigned char note[TERN_NOTE_MAX + 1]; /* zeros follow the note, so text ends with a zero */
} tern_map_file;

/** Saves a map in a file. A file that is there already is replaced, and stays as it was until the
 * new one is whole, as with tern_hashtable_save. No rank may change the map meanwhile. Each rank
 * writes the keys that it owns; it needs memory for one block (256 KiB), and for two copies of a
 * value that lies on another node.
 *
 * @param worker the calling worker
 * @param map the map
 * @param path the same on every rank
 * @param note the application's note, the same on every rank; NULL if note_bytes is 0
 * @param note_bytes 0 to TERN_NOTE_MAX
 * @return the statuses of tern_hashtable_save and of tern_map_for_each
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_save(tern_worker *worker, tern_map *map,
                                                  const char *path, const void *note,
                                                  size_t note_bytes);

/** Creates a map that holds what a file holds. Its keys are inserted as by TERN_AUTO, each by one
 * of the ranks. A rank needs memory for one block (256 KiB) and for the largest key with its value.
 *
 * @param worker the calling worker, which then takes the map's calls as after tern_map_create
 * @param path the same on every rank
 * @param options the same on every rank; may be NULL. None of them is in the file. The capacity is
 *     raised to the number of keys in the file
 * @param[out] file what the file that was loaded says; may be NULL
 * @param[out] map the map; the caller destroys it with tern_map_destroy
 * @return the statuses of tern_hashtable_load about the file, and those of tern_map_create and
 *     tern_map_insert; TERN_ERR_ARGUMENT also if the file holds a table. After an error there is no
 *     map; after TERN_ERR_PEER other ranks may have one
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_map_load(tern_worker *worker, const char *path,
                                                  const tern_map_options *options,
                                                  tern_map_file *file, tern_map **map);

/** Reads what a file says about its map, and not the map. A program can choose
 * tern_config.segment_size by it before it creates its context. It checks the header and the file's
 * size, not the keys. It needs no context and no MPI; any thread and any handler may call it.
 *
 * @param path the file
 * @param[out] file what the file says
 * @return the statuses of tern_hashtable_file_read; TERN_ERR_ARGUMENT also if it holds a table
 *
 * Blocking: reads a file, without progress. */
TERN_NODISCARD TERN_API tern_status tern_map_file_read(const char *path, tern_map_file *file);

#ifdef __cplusplus
}
#endif

#endif
