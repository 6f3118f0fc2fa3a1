#ifndef TERN_HASHTABLE_FILE_FORMAT_H
#define TERN_HASHTABLE_FILE_FORMAT_H

/*
 * A file of a table or a map: a header, then sections of one size. So a rank finds any section by
 * its number.
 *
 *     header, which holds the note          344 bytes
 *     section 0: check, records, contents   16 bytes and room for section_records records; then
 *                                           zeros up to a multiple of 8
 *     section 1 ...
 *
 * A table's record is a key and a value, or a key and a counter of 8 bytes, with nothing between. A
 * map's record is a word of 8 bytes (map/file/words.h). Every rank writes the sections of its own
 * part, of which only the last one may not be full. Numbers are in the writer's byte order, which
 * the header shows. Checks are seeded with the file's nonce and the section's number, so a section
 * does not pass in the place of another one. Version 1 had no note.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tern/hashtable.h"

enum { TERN_FILE_VERSION = 2, TERN_FILE_SECTION = 1 << 18, TERN_FILE_SECTION_HEAD = 16 };

typedef enum tern_file_kind {
    TERN_FILE_VALUES,   /* a table with values */
    TERN_FILE_COUNTERS, /* a table with counters */
    TERN_FILE_MAP
} tern_file_kind;

typedef struct tern_file_header {
    char magic[8];
    uint32_t order;      /* TERN_FILE_ORDER */
    uint32_t version;    /* of the format */
    uint32_t word_bytes; /* 8 */
    uint32_t kind;       /* tern_file_kind */
    /* A table: of each key and value. A map: of all keys and of all values together. */
    uint64_t key_bytes, value_bytes;
    uint64_t count; /* keys in all sections */
    uint64_t section_records;
    uint64_t sections;
    uint64_t nonce;
    uint64_t note_bytes;
    unsigned char note[TERN_NOTE_MAX]; /* zeros behind it */
    uint64_t check;                    /* of all before */
} tern_file_header;

#define TERN_FILE_ORDER UINT32_C(0x01020304)

static inline size_t tern_file_record(const tern_file_header *h) {
    if (h->kind == TERN_FILE_MAP)
        return 8;
    return (size_t)(h->key_bytes + (h->kind == TERN_FILE_COUNTERS ? 8 : h->value_bytes));
}

static inline size_t tern_file_section(const tern_file_header *h) {
    return (TERN_FILE_SECTION_HEAD + (size_t)h->section_records * tern_file_record(h) + 7) / 8 * 8;
}

static inline uint64_t tern_file_offset(const tern_file_header *h, uint64_t section) {
    return sizeof *h + section * tern_file_section(h);
}

/* Returns how many records a section takes if no rank has more than most. */
uint64_t tern_file_section_records(size_t record_bytes, uint64_t most);

/* Completes a header: fills in magic, order, version and check. */
void tern_file_header_seal(tern_file_header *h);

/* Refuses a header that is not tern's, or does not suit a file of file_bytes. got: bytes of the
 * header that could be read into h. path: for the detail. */
tern_status tern_file_header_check(const char *path, const tern_file_header *h, size_t got,
                                   uint64_t file_bytes);

/* Completes a section that holds so many records: puts its head before them, and zeros behind. */
void tern_file_section_seal(const tern_file_header *h, uint64_t number, void *section,
                            uint64_t records);

/* Refuses a file of a table where a map is wanted, or the other way round. map: a map is wanted. */
tern_status tern_file_header_expect(const char *path, const tern_file_header *h, bool map);

/* What a table's header says, in the form for the program. */
tern_hashtable_file tern_file_header_tell(const tern_file_header *h);

/* Returns the error of a damaged section. */
tern_status tern_file_section_damaged(const char *path, const tern_file_header *h, uint64_t number);

/* Refuses a section that is not whole. [out] records: how many it holds. */
tern_status tern_file_section_check(const char *path, const tern_file_header *h, uint64_t number,
                                    const void *section, uint64_t *records);

#endif
