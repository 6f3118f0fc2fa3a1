#include "hashtable/file/format.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "hashtable/table/bucket.h"

static const char magic[8] = {'t', 'e', 'r', 'n', 'h', 'a', 's', 'h'};

_Static_assert(sizeof(tern_file_header) == 344, "no padding");

uint64_t tern_file_section_records(size_t record_bytes, uint64_t most) {
    uint64_t fit = (TERN_FILE_SECTION - TERN_FILE_SECTION_HEAD) / record_bytes;
    return most < fit ? most : fit;
}

static uint64_t header_check(const tern_file_header *h) {
    return XXH3_64bits(h, offsetof(tern_file_header, check));
}

void tern_file_header_seal(tern_file_header *h) {
    memcpy(h->magic, magic, sizeof magic);
    h->order = TERN_FILE_ORDER;
    h->version = TERN_FILE_VERSION;
    h->word_bytes = 8;
    h->check = header_check(h);
}

static tern_status header_cut(const char *path, size_t got) {
    return tern_fail(TERN_ERR_ARGUMENT, "'%s' ends after %zu of the %zu bytes of its header", path,
                     got, sizeof(tern_file_header));
}

static tern_status check_origin(const char *path, const tern_file_header *h, size_t got) {
    if (got < sizeof magic || memcmp(h->magic, magic, sizeof magic) != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "'%s' was not written by tern_hashtable_save or tern_map_save", path);
    if (got < offsetof(tern_file_header, word_bytes))
        return header_cut(path, got);
    if (h->order == __builtin_bswap32(TERN_FILE_ORDER))
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "'%s' was saved with the other byte order; load it on such a machine",
                         path);
    if (h->order == TERN_FILE_ORDER && h->version != TERN_FILE_VERSION)
        return tern_fail(
            TERN_ERR_UNSUPPORTED,
            "'%s' has version %u of the format and this tern reads version %d; load it "
            "with the tern that saved it",
            path, h->version, TERN_FILE_VERSION);
    return got < sizeof *h ? header_cut(path, got) : TERN_OK;
}

/* Whether a record can have these sizes, and no sum of them overflows. */
static bool has_sane_record(const tern_file_header *h) {
    if (h->kind == TERN_FILE_MAP)
        return true; /* a word */
    return h->kind <= TERN_FILE_COUNTERS && h->key_bytes >= 1 && h->key_bytes <= TERN_KEY_MAX &&
           h->value_bytes <= TERN_VALUE_MAX &&
           !(h->kind == TERN_FILE_COUNTERS && h->value_bytes > 0);
}

static bool is_sane(const tern_file_header *h) {
    if (h->order != TERN_FILE_ORDER || h->word_bytes != 8 || !has_sane_record(h) ||
        h->note_bytes > TERN_NOTE_MAX)
        return false;
    return h->section_records >= (h->sections > 0) &&
           h->section_records <= tern_file_section_records(tern_file_record(h), UINT64_MAX);
}

tern_status tern_file_header_check(const char *path, const tern_file_header *h, size_t got,
                                   uint64_t file_bytes) {
    tern_status status = check_origin(path, h, got);
    if (status != TERN_OK)
        return status;
    if (h->check != header_check(h) || !is_sane(h))
        return tern_fail(TERN_ERR_ARGUMENT, "'%s' is damaged in its header", path);
    uint64_t rest = file_bytes - sizeof *h, section = h->sections == 0 ? 1 : tern_file_section(h);
    if (file_bytes < sizeof *h || rest / section != h->sections || rest % section != 0)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "'%s' has %llu bytes and its header says %llu; it was cut or added to",
                         path, (unsigned long long)file_bytes,
                         (unsigned long long)tern_file_offset(h, h->sections));
    if (h->count > h->sections * h->section_records)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "'%s' is damaged: %llu records in %llu sections of %llu", path,
                         (unsigned long long)h->count, (unsigned long long)h->sections,
                         (unsigned long long)h->section_records);
    return TERN_OK;
}

tern_status tern_file_header_expect(const char *path, const tern_file_header *h, bool map) {
    if ((h->kind == TERN_FILE_MAP) == map)
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT, "'%s' holds a %s; load it with tern_%s_load", path,
                     map ? "hash table" : "map", map ? "hashtable" : "map");
}

tern_hashtable_file tern_file_header_tell(const tern_file_header *h) {
    tern_hashtable_file file = {.key_bytes = h->key_bytes,
                                .value_bytes = h->value_bytes,
                                .counter = h->kind == TERN_FILE_COUNTERS,
                                .keys = h->count,
                                .note_bytes = h->note_bytes};
    memcpy(file.note, h->note, sizeof h->note);
    return file;
}

static uint64_t section_check(const tern_file_header *h, uint64_t number, const char *section) {
    return XXH3_64bits_withSeed(section + 8, tern_file_section(h) - 8,
                                h->nonce ^ number * UINT64_C(0x9e3779b97f4a7c15));
}

void tern_file_section_seal(const tern_file_header *h, uint64_t number, void *section,
                            uint64_t records) {
    size_t used = TERN_FILE_SECTION_HEAD + (size_t)records * tern_file_record(h);
    memset((char *)section + used, 0, tern_file_section(h) - used);
    memcpy((char *)section + 8, &records, sizeof records);
    uint64_t check = section_check(h, number, section);
    memcpy(section, &check, sizeof check);
}

tern_status tern_file_section_damaged(const char *path, const tern_file_header *h,
                                      uint64_t number) {
    return tern_fail(TERN_ERR_ARGUMENT, "'%s' is damaged in the %zu bytes from %llu on", path,
                     tern_file_section(h), (unsigned long long)tern_file_offset(h, number));
}

tern_status tern_file_section_check(const char *path, const tern_file_header *h, uint64_t number,
                                    const void *section, uint64_t *records) {
    uint64_t head[2];
    memcpy(head, section, sizeof head);
    if (head[0] != section_check(h, number, section) || head[1] > h->section_records)
        return tern_file_section_damaged(path, h, number);
    *records = head[1];
    return TERN_OK;
}
