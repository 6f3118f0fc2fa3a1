#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "rpc/archive/archive.h"

/*
 * The reader of archives, except for what the header inlines: content in chunks, groups and errors.
 * Reading an item is a load, a few comparisons and no copy. The reader never allocates. Whatever
 * the bytes are, it never reads outside them and the chunks. Guarded by tests/rpc/test_archive.c,
 * tests/rpc/test_archive_values.c and tests/fuzz.
 */

tern_status tern_reader_fail(tern_reader *reader, tern_status status) {
    if (reader->status == TERN_OK && status != TERN_OK) {
        reader->status = status;
        reader->left = 0;
    }
    return reader->status;
}

/* Says what kind of machine or program an archive with this header came from. */
static tern_status explain_header(const unsigned char *header) {
    const unsigned char *here = tern_archive_header;
    if (memcmp(header, here, 4) != 0)
        return tern_fail(TERN_ERR_MISMATCH,
                         "the bytes are no archive: they do not begin with tern");
    return tern_fail(TERN_ERR_MISMATCH,
                     "an archive of version %u, byte order %u and %u-byte pointers; here they are "
                     "%u, %u (1: little-endian) and %u",
                     header[4], header[5], header[6], here[4], here[5], here[6]);
}

tern_status tern_reader_open(tern_reader *reader, const void *archive, size_t bytes) {
    if (reader == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_reader_open: reader is NULL");
    *reader = (tern_reader){.next = archive, .bytes = bytes};
    if (archive == NULL || (uintptr_t)archive % 8 != 0)
        return tern_reader_fail(reader,
                                tern_fail(TERN_ERR_ARGUMENT, "tern_reader_open: archive is %s",
                                          archive == NULL ? "NULL" : "not aligned to 8 bytes"));
    if (bytes < TERN_ARCHIVE_HEADER || bytes % 8 != 0)
        return tern_reader_fail(reader, tern_fail(TERN_ERR_RANGE,
                                                  "an archive of %zu bytes is cut off: an archive "
                                                  "has 8 bytes or more, and a multiple of 8",
                                                  bytes));
    if (memcmp(archive, tern_archive_header, TERN_ARCHIVE_HEADER) != 0)
        return tern_reader_fail(reader, explain_header(archive));
    reader->next += TERN_ARCHIVE_HEADER;
    reader->left = bytes - TERN_ARCHIVE_HEADER;
    return TERN_OK;
}

tern_status tern_reader_chunks(tern_reader *reader, const tern_chunk *chunks, size_t count) {
    size_t i = 0;
    if (chunks == NULL && count > 0)
        return tern_reader_fail(reader,
                                tern_fail(TERN_ERR_ARGUMENT, "tern_reader_chunks: chunks is NULL"));
    while (i < count && (chunks[i].memory != NULL || chunks[i].bytes == 0))
        i++;
    if (i < count)
        return tern_reader_fail(
            reader,
            tern_fail(TERN_ERR_ARGUMENT, "chunk %zu of %zu of an archive has no memory", i, count));
    reader->chunk = chunks;
    reader->chunks = count;
    return reader->status;
}

static const char *reader_name_of(uint64_t type) {
    static const char *const names[] = {
        "nothing",        "bytes", "signed numbers", "unsigned numbers",
        "floating point", "text",  "a group",        "the end of a group"};
    return type < sizeof names / sizeof names[0] ? names[type] : "an unknown type";
}

/* The reader's position, for messages: the number of the item, from 1, and its byte. The reader
 * does not count items; for a message the items before this one are counted again. */
typedef struct place {
    size_t item, byte;
} place;

static place reader_find_place(const tern_reader *reader) {
    place here = {1, reader->bytes - reader->left};
    const char *start = reader->next - here.byte;
    for (size_t at = TERN_ARCHIVE_HEADER; at + 8 <= here.byte; here.item++) {
        size_t size = tern_item_size(tern_load_word(start + at));
        if (size > here.byte - at) /* the archive changed since it was read */
            break;
        at += size;
    }
    return here;
}

static tern_status refuse_end(tern_reader *reader, const char *wanted) {
    place at = reader_find_place(reader);
    return tern_reader_fail(
        reader,
        tern_fail(TERN_ERR_RANGE, "the archive ends at byte %zu, where item %zu was to follow: %s",
                  at.byte, at.item, wanted));
}

/* Fails because the item is another than the one wanted. */
static tern_status refuse_other(tern_reader *reader, uint64_t word, const char *wanted) {
    place at = reader_find_place(reader);
    uint64_t type = tern_item_type_of_word(word);
    char found[160];
    if (type == TERN_ITEM_BEGIN || type == TERN_ITEM_END)
        snprintf(found, sizeof found, "%s", reader_name_of(type));
    else
        snprintf(found, sizeof found, "%" PRIu64 " elements of %" PRIu64 " bytes of %s, place %u",
                 tern_item_count(word), tern_item_element(word), reader_name_of(type),
                 (unsigned)tern_item_place(word));
    return tern_reader_fail(reader, tern_fail(TERN_ERR_MISMATCH,
                                              "item %zu of the archive, at byte %zu: %s; wanted %s",
                                              at.item, at.byte, found, wanted));
}

/* Fails because an item of the right kind is longer than the rest of the archive. */
static tern_status refuse_length(tern_reader *reader, uint64_t word, const char *there) {
    place at = reader_find_place(reader);
    return tern_reader_fail(
        reader,
        tern_fail(TERN_ERR_RANGE,
                  "item %zu of the archive, at byte %zu of %zu, has %" PRIu64
                  " elements of %" PRIu64 " bytes of %s, which are not there: %s",
                  at.item, at.byte, reader->bytes, tern_item_count(word), tern_item_element(word),
                  reader_name_of(tern_item_type_of_word(word)), there));
}

/* Takes the next chunk if it has the size that the item's word gives; otherwise the reader fails.
 * [out] chunk. */
static const void *take_chunk(tern_reader *reader, uint64_t word, size_t *count,
                              const tern_chunk **chunk) {
    char there[80] = "its chunk is missing";
    size_t bytes = (size_t)(tern_item_count(word) * tern_item_element(word));
    if (reader->chunks == 0 || reader->chunk->bytes != bytes) {
        if (reader->chunks > 0)
            snprintf(there, sizeof there, "its chunk has %zu bytes", reader->chunk->bytes);
        (void)refuse_length(reader, word, there);
        return NULL;
    }
    *chunk = reader->chunk++;
    reader->chunks--;
    reader->next += 8;
    reader->left -= 8;
    *count = (size_t)tern_item_count(word);
    return (*chunk)->bytes > 0 ? (*chunk)->memory : tern_archive_header;
}

/* Finds the next item if its content lies in a chunk; otherwise makes the reader fail with the
 * reason. It reads the item's word again, since the archive may have changed since the inlined code
 * read it, and decides everything by this value. */
static const void *reader_seek(tern_reader *reader, tern_item_type type, size_t element,
                               uint64_t wanted, size_t *count, const tern_chunk **chunk) {
    char number[24] = "any number", text[120];
    if (reader->status != TERN_OK)
        return NULL;
    uint64_t word = reader->left >= 8 ? tern_load_word(reader->next) : 0;
    bool right = (word & 0xffff0f) == tern_item_word(type, element, 0) &&
                 tern_item_place(word) <= 1 &&
                 (wanted == TERN_ITEM_COUNT_MAX || tern_item_count(word) == wanted);
    if (right && tern_item_place(word) == 1)
        return take_chunk(reader, word, count, chunk);
    if (wanted != TERN_ITEM_COUNT_MAX)
        snprintf(number, sizeof number, "%" PRIu64, wanted);
    snprintf(text, sizeof text, "are %s of %zu bytes of %s", number, element, reader_name_of(type));
    if (reader->left < 8)
        (void)refuse_end(reader, text);
    else if (!right)
        (void)refuse_other(reader, word, text);
    else
        (void)refuse_length(reader, word, "the archive is cut off");
    return NULL;
}

const void *tern_internal_reader_seek(tern_reader *reader, tern_item_type type, size_t element,
                                      uint64_t wanted, size_t *count) {
    const tern_chunk *chunk = NULL;
    return reader_seek(reader, type, element, wanted, count, &chunk);
}

const void *tern_reader_take(tern_reader *reader, tern_item_type type, size_t element,
                             uint64_t wanted, size_t *count, const tern_chunk **chunk) {
    const tern_chunk *before = reader->chunk;
    const void *content = tern_internal_reader_next(reader, type, element, wanted, count);
    *chunk = content != NULL && reader->chunk != before ? before : NULL;
    return content;
}

tern_status tern_internal_reader_refuse_string(tern_reader *reader) {
    place at = reader_find_place(reader);
    return tern_reader_fail(
        reader, tern_fail(TERN_ERR_MISMATCH,
                          "item %zu of the archive, before byte %zu, is a string that does not "
                          "end with zero",
                          at.item - 1, at.byte));
}

/* Fails because the next item is not the group of that name. */
static tern_status refuse_group(tern_reader *reader, const char *name) {
    char text[120];
    snprintf(text, sizeof text, "is the group '%.80s'", name);
    if (reader->left < 8)
        return refuse_end(reader, text);
    uint64_t word = tern_load_word(reader->next);
    if ((word & 0xff) != TERN_ITEM_BEGIN)
        return refuse_other(reader, word, text);
    if (tern_item_size(word) > reader->left)
        return refuse_length(reader, word, "its name is cut off");
    place at = reader_find_place(reader);
    size_t found = tern_item_element(word);
    return tern_reader_fail(
        reader,
        tern_fail(TERN_ERR_MISMATCH,
                  "item %zu of the archive, at byte %zu, is the group '%.*s'; wanted %s", at.item,
                  at.byte, (int)(found < 80 ? found : 80), reader->next + 16, text));
}

tern_status tern_read_begin(tern_reader *reader, const char *name, uint64_t *count) {
    if (name == NULL)
        name = "";
    size_t length = strlen(name), size = 16 + tern_padded(length);
    if (reader->status != TERN_OK)
        return reader->status;
    uint64_t word = reader->left >= size ? tern_load_word(reader->next) : 0;
    if ((word & 0xffffff) != tern_item_word(TERN_ITEM_BEGIN, length, 0) ||
        memcmp(reader->next + 16, name, length) != 0)
        return refuse_group(reader, name);
    if (reader->groups == TERN_GROUPS_MAX)
        return tern_reader_fail(
            reader, tern_fail(TERN_ERR_RANGE,
                              "the archive has a group inside %u others, which is the limit",
                              TERN_GROUPS_MAX));
    uint64_t enclosed = tern_load_word(reader->next + 8);
    if (enclosed > reader->left - size || enclosed / 8 < 1 ||
        tern_item_count(word) > enclosed / 8 - 1)
        return refuse_length(reader, word, "the group is too short");
    reader->next += size;
    reader->left -= size;
    reader->groups++;
    *count = tern_item_count(word);
    return TERN_OK;
}

tern_status tern_read_end(tern_reader *reader) {
    static const char wanted[] = "is the end of a group";
    if (reader->status != TERN_OK)
        return reader->status;
    if (reader->left < 8)
        return refuse_end(reader, wanted);
    uint64_t word = tern_load_word(reader->next);
    if (word != tern_item_word(TERN_ITEM_END, 0, 0) || reader->groups == 0)
        return refuse_other(reader, word, wanted);
    reader->next += 8;
    reader->left -= 8;
    reader->groups--;
    return TERN_OK;
}

tern_status tern_reader_close(tern_reader *reader) {
    if (reader->status == TERN_OK && (reader->left > 0 || reader->chunks > 0))
        return tern_reader_fail(reader, tern_fail(TERN_ERR_MISMATCH,
                                                  "%zu bytes and %zu chunks of the archive were "
                                                  "not asked for; read all that was written",
                                                  reader->left, reader->chunks));
    return reader->status;
}
