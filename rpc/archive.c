#include "tern/archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/error.h"

/*
 * Archives: what the inlined paths of the header leave, which is memory and errors. Adding an item
 * is two stores and a copy, reading one is a load, a few comparisons and no copy; neither allocates
 * unless a writer outgrows its memory, then by doubling. Guarded by tests/test_archive.c.
 */

enum { HEADER = 8, FIRST_HEAP = 256 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { BYTE_ORDER_HERE = 1 };
#else
enum { BYTE_ORDER_HERE = 2 };
#endif

static const unsigned char header_here[HEADER] = {
    't', 'e', 'r', 'n', 1, BYTE_ORDER_HERE, sizeof(void *), 0};

static tern_status fail_writer(tern_writer *writer, tern_status status) {
    writer->status = status;
    writer->room = writer->bytes;
    return status;
}

/* Moves the archive to heap memory with room for size more bytes. */
static tern_status grow(tern_writer *writer, size_t size) {
    if (size > writer->limit - writer->bytes)
        return tern_fail(TERN_ERR_RANGE, "an archive of %zu bytes and %zu more; %zu are the limit",
                         writer->bytes, size, writer->limit);
    size_t wanted = writer->bytes + size, room = wanted > FIRST_HEAP ? wanted : FIRST_HEAP;
    if (room < writer->room * 2)
        room = writer->room * 2;
    if (room > writer->limit)
        room = writer->limit;
    char *larger = realloc(writer->heap, room);
    if (larger == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for an archive of %zu bytes", wanted);
    if (writer->heap == NULL && writer->bytes > 0)
        memcpy(larger, writer->data, writer->bytes);
    writer->heap = writer->data = larger;
    writer->room = room;
    return TERN_OK;
}

tern_status tern_writer_open(tern_writer *writer, void *memory, size_t room, size_t limit) {
    if (writer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_writer_open: writer is NULL");
    if (limit > (size_t)PTRDIFF_MAX)
        limit = (size_t)PTRDIFF_MAX;
    *writer = (tern_writer){.data = memory, .room = room < limit ? room : limit, .limit = limit};
    tern_status status = TERN_OK;
    if ((memory == NULL && room > 0) || (uintptr_t)memory % 8 != 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_writer_open: memory is %s",
                           memory == NULL ? "NULL" : "not aligned to 8 bytes");
    else if (writer->room < HEADER)
        status = grow(writer, HEADER);
    if (status != TERN_OK)
        return fail_writer(writer, status);
    memcpy(writer->data, header_here, HEADER);
    writer->bytes = HEADER;
    return TERN_OK;
}

tern_status tern_writer_make_room(tern_writer *writer, size_t element, const void *items,
                                  size_t count) {
    if (writer->status != TERN_OK)
        return writer->status;
    tern_status status = TERN_OK;
    if (items == NULL && count > 0)
        status = tern_fail(TERN_ERR_ARGUMENT, "an item to be archived is NULL");
    else if (element > TERN_ITEM_ELEMENT_MAX || count > TERN_ITEM_COUNT_MAX)
        status = tern_fail(TERN_ERR_RANGE,
                           "an item of %zu elements of %zu bytes; %" PRIu64 " of %u are the limit",
                           count, element, TERN_ITEM_COUNT_MAX, TERN_ITEM_ELEMENT_MAX);
    else
        status = grow(writer, HEADER + ((element * count + 7) & ~(size_t)7));
    return status == TERN_OK ? TERN_OK : fail_writer(writer, status);
}

tern_status tern_writer_finish(const tern_writer *writer, const void **archive, size_t *bytes) {
    if (writer->status != TERN_OK)
        return writer->status;
    *archive = writer->data;
    *bytes = writer->bytes;
    return TERN_OK;
}

void tern_writer_close(tern_writer *writer) {
    free(writer->heap);
    *writer = (tern_writer){.status = TERN_ERR_STATE};
}

static tern_status fail_reader(tern_reader *reader, tern_status status) {
    reader->status = status;
    reader->left = 0;
    return status;
}

/* Which machine or program it came from. */
static tern_status explain_header(const unsigned char *header) {
    if (memcmp(header, header_here, 4) != 0)
        return tern_fail(TERN_ERR_MISMATCH, "this is no archive");
    return tern_fail(TERN_ERR_MISMATCH,
                     "an archive of version %u, byte order %u and %u-byte pointers; here they are "
                     "%u, %u (1: little-endian) and %u",
                     header[4], header[5], header[6], header_here[4], header_here[5],
                     header_here[6]);
}

tern_status tern_reader_open(tern_reader *reader, const void *archive, size_t bytes) {
    if (reader == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_reader_open: reader is NULL");
    *reader = (tern_reader){.next = archive, .bytes = bytes};
    if (archive == NULL || (uintptr_t)archive % 8 != 0)
        return fail_reader(reader, tern_fail(TERN_ERR_ARGUMENT, "tern_reader_open: archive is %s",
                                             archive == NULL ? "NULL" : "not aligned to 8 bytes"));
    if (bytes < HEADER || bytes % 8 != 0)
        return fail_reader(reader, tern_fail(TERN_ERR_RANGE,
                                             "an archive of %zu bytes is cut off: there are at "
                                             "least 8, and always a multiple of 8",
                                             bytes));
    if (memcmp(archive, header_here, HEADER) != 0)
        return fail_reader(reader, explain_header(archive));
    reader->next += HEADER;
    reader->left = bytes - HEADER;
    return TERN_OK;
}

static const char *name_of(size_t type) {
    static const char *const names[] = {"nothing",          "bytes",          "signed numbers",
                                        "unsigned numbers", "floating point", "text"};
    return type < sizeof names / sizeof names[0] ? names[type] : "an unknown type";
}

/* The header is read again, for the text only. */
tern_status tern_reader_refuse(tern_reader *reader, tern_item_type type, size_t element,
                               uint64_t wanted) {
    if (reader->status != TERN_OK)
        return reader->status;
    size_t at = reader->bytes - reader->left;
    if (reader->left < HEADER)
        return fail_reader(reader, tern_fail(TERN_ERR_RANGE,
                                             "the archive ends at byte %zu, where "
                                             "an item was to follow",
                                             at));
    uint64_t header;
    memcpy(&header, reader->next, sizeof header);
    size_t found = header & 15, size = header >> 8 & 0xffff, place = header >> 4 & 15;
    uint64_t count = header >> 24;
    if (place != 0 || found != (size_t)type || size != element ||
        (wanted != TERN_ITEM_COUNT_MAX && count != wanted)) {
        char number[24] = "any number";
        if (wanted != TERN_ITEM_COUNT_MAX)
            snprintf(number, sizeof number, "%" PRIu64, wanted);
        tern_fail(TERN_ERR_MISMATCH,
                  "at byte %zu of the archive are %" PRIu64 " elements of %zu bytes of %s, place "
                  "%zu; wanted are %s of %zu bytes of %s",
                  at, count, size, name_of(found), place, number, element, name_of((size_t)type));
        return fail_reader(reader, TERN_ERR_MISMATCH);
    }
    return fail_reader(reader,
                       tern_fail(TERN_ERR_RANGE,
                                 "the item at byte %zu of an archive of %zu bytes has %" PRIu64
                                 " elements of %zu bytes",
                                 at, reader->bytes, count, size));
}

tern_status tern_reader_refuse_string(tern_reader *reader) {
    return fail_reader(reader, tern_fail(TERN_ERR_MISMATCH,
                                         "the string before byte %zu of the archive does not end "
                                         "with zero",
                                         reader->bytes - reader->left));
}

tern_status tern_reader_close(tern_reader *reader) {
    if (reader->status == TERN_OK && reader->left > 0)
        return fail_reader(reader,
                           tern_fail(TERN_ERR_MISMATCH,
                                     "%zu bytes of the archive were not asked for", reader->left));
    return reader->status;
}
