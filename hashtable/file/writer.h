#ifndef TERN_HASHTABLE_FILE_WRITER_H
#define TERN_HASHTABLE_FILE_WRITER_H

/*
 * A file that all ranks write: what saving a table and saving a map share. Every rank writes the
 * sections of its own part, one at a time. After the last one the ranks agree on the outcome.
 */

#include "hashtable/file/io.h"

typedef struct tern_file_writer {
    const char *path; /* of the new file */
    int file;
    tern_file_header header;
    char *section;
    uint64_t records; /* in section */
    uint64_t number;  /* of section */
    tern_status status;
} tern_file_writer;

/* What a rank's own part adds to the file. */
typedef struct tern_file_part {
    uint64_t keys, records;
    uint64_t key_bytes, value_bytes; /* are added to those of the header */
} tern_file_part;

/* What is saved. */
typedef struct tern_file_content {
    const char *function; /* the public one, for details */
    const char *thing;    /* what object is, for details */
    void *object;
    /* Local. Fills in kind, and the sizes that are not sums over the parts. */
    tern_status (*measure)(tern_worker *worker, void *object, tern_file_header *h,
                           tern_file_part *part);
    /* Local. Adds the records that measure has counted. */
    tern_status (*write)(tern_worker *worker, void *object, tern_file_writer *w);
} tern_file_content;

/* The address of the next record. */
static inline char *tern_file_writer_room(const tern_file_writer *w) {
    return w->section + TERN_FILE_SECTION_HEAD + w->records * tern_file_record(&w->header);
}

/* Adds so many records that were written there and fit the section. Keeps an error in status. */
void tern_file_writer_add(tern_file_writer *w, uint64_t records);

/* Collective: writes the file and gives it its name. */
tern_status tern_file_save(tern_worker *worker, const tern_file_content *content, const char *path,
                           const void *note, size_t note_bytes);

#endif
