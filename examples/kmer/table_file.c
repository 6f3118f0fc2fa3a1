#include "table_file.h"

#include <stdio.h>
#include <string.h>

#include "encoding.h"
#include "job.h"

enum { NOTE_BYTES = 40 };

static size_t write_note(char *note, unsigned k, bool canonical) {
    return (size_t)snprintf(note, NOTE_BYTES, "kmer k=%u canonical=%d", k, canonical);
}

/* The note is right if it is what write_note makes of the numbers in it. */
static bool read_note(const tern_hashtable_file *file, unsigned *k, bool *canonical) {
    char again[NOTE_BYTES];
    unsigned base, strands;
    if (sscanf((const char *)file->note, "kmer k=%2u canonical=%1u", &base, &strands) != 2 ||
        base < 1 || base > KMER_LONGEST || strands > 1)
        return false;
    *k = base;
    *canonical = strands == 1;
    return file->note_bytes == write_note(again, base, *canonical) &&
           memcmp(file->note, again, file->note_bytes) == 0;
}

static int understand(kmer_table_file *table, const tern_hashtable_file *file, kmer_error *error) {
    if (file->key_bytes != sizeof(uint64_t) || file->counter != 1 ||
        !read_note(file, &table->k, &table->canonical))
        return kmer_fail(error, "%s: is a table, but not one that kmer --output wrote",
                         table->name);
    table->distinct = file->keys;
    return 0;
}

int kmer_table_look(kmer_table_file *file, const char *name, unsigned k, bool canonical,
                    kmer_error *error) {
    kmer_table_file found = {.name = name};
    tern_hashtable_file read;
    tern_status status = tern_hashtable_file_read(name, &read);
    if (status != TERN_OK)
        return kmer_fail_tern(error, status, "cannot load a table");
    if (understand(&found, &read, error) != 0)
        return -1;
    if (k != 0 && k != found.k)
        return kmer_fail(error, "%s: was counted with -k %u, not with -k %u", name, found.k, k);
    if (canonical && !found.canonical)
        return kmer_fail(error, "%s: was counted without --canonical", name);
    *file = found;
    return 0;
}

int kmer_table_load(const kmer_table_file *file, tern_worker *worker,
                    const tern_hashtable_options *options, tern_hashtable **table,
                    kmer_error *error) {
    kmer_table_file loaded = {.name = file->name};
    tern_hashtable_file read;
    tern_status status = tern_hashtable_load(worker, file->name, options, &read, table);
    if (status != TERN_OK)
        return kmer_fail_tern(error, status, "cannot load a table");
    if (understand(&loaded, &read, error) != 0)
        return -1;
    if (loaded.k != file->k || loaded.canonical != file->canonical)
        return kmer_fail(error, "%s: was replaced by another table meanwhile; try again",
                         file->name);
    return 0;
}

int kmer_table_save(const char *name, tern_worker *worker, tern_hashtable *table, unsigned k,
                    bool canonical, kmer_error *error) {
    char note[NOTE_BYTES];
    if (name == NULL)
        return 0;
    tern_status status =
        tern_hashtable_save(worker, table, name, note, write_note(note, k, canonical));
    return status == TERN_OK ? 0 : kmer_fail_tern(error, status, "cannot write the table");
}
