#include <inttypes.h>
#include <stdlib.h>

#include "rpc/archive/archive.h"

/*
 * The writer of archives, except for what the header inlines: memory, groups and errors. Adding an
 * item is two stores and a copy. A writer allocates only when it outgrows its memory, and then
 * doubles it. Guarded by tests/rpc/test_archive.c.
 */

enum { FIRST_HEAP = 256 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { BYTE_ORDER_HERE = 1 };
#else
enum { BYTE_ORDER_HERE = 2 };
#endif

const unsigned char tern_archive_header[TERN_ARCHIVE_HEADER] = {
    't', 'e', 'r', 'n', 1, BYTE_ORDER_HERE, sizeof(void *), 0};

tern_status tern_writer_fail(tern_writer *writer, tern_status status) {
    if (writer->status == TERN_OK && status != TERN_OK) {
        writer->status = status;
        writer->room = writer->bytes;
    }
    return writer->status;
}

/* Moves the archive to heap memory with room for size more bytes. */
static tern_status writer_grow(tern_writer *writer, size_t size) {
    if (size > writer->limit - writer->bytes)
        return tern_fail(TERN_ERR_RANGE,
                         "an archive of %zu bytes and %zu more; at most %zu are allowed",
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
    writer->room = writer->capacity = room;
    return TERN_OK;
}

tern_status tern_writer_reserve(tern_writer *writer, size_t size) {
    if (writer->status != TERN_OK || size <= writer->room - writer->bytes)
        return writer->status;
    return tern_writer_fail(writer, writer_grow(writer, size));
}

/* Begins an empty archive in the memory that the writer has. */
static tern_status writer_begin(tern_writer *writer) {
    writer->bytes = writer->group = 0;
    writer->groups = 0;
    writer->status = TERN_OK;
    writer->room = writer->capacity;
    if (tern_writer_reserve(writer, TERN_ARCHIVE_HEADER) != TERN_OK)
        return writer->status;
    memcpy(writer->data, tern_archive_header, TERN_ARCHIVE_HEADER);
    writer->bytes = TERN_ARCHIVE_HEADER;
    return TERN_OK;
}

tern_status tern_writer_open(tern_writer *writer, void *memory, size_t room, size_t limit) {
    if (writer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_writer_open: writer is NULL");
    if (limit > (size_t)PTRDIFF_MAX)
        limit = (size_t)PTRDIFF_MAX;
    *writer = (tern_writer){.data = memory,
                            .capacity = room < limit ? room : limit,
                            .limit = limit,
                            .share_min = SIZE_MAX};
    if ((memory == NULL && room > 0) || (uintptr_t)memory % 8 != 0) {
        writer->limit = 0; /* so it cannot be reset */
        return tern_writer_fail(writer,
                                tern_fail(TERN_ERR_ARGUMENT, "tern_writer_open: memory is %s",
                                          memory == NULL ? "NULL" : "not aligned to 8 bytes"));
    }
    return writer_begin(writer);
}

tern_status tern_writer_reset(tern_writer *writer) {
    if (writer->limit == 0)
        return tern_fail(TERN_ERR_STATE,
                         "tern_writer_reset: the writer is not open; call tern_writer_open first");
    if (writer->chunks != NULL)
        tern_chunks_clear(writer->chunks);
    return writer_begin(writer);
}

tern_status tern_internal_write_any(tern_writer *writer, tern_item_type type, size_t element,
                                    const void *items, size_t count) {
    if (writer->status != TERN_OK)
        return writer->status;
    if (items == NULL && count > 0)
        return tern_writer_fail(
            writer, tern_fail(TERN_ERR_ARGUMENT,
                              "an item to be archived is NULL, and its count is %zu", count));
    if (element > TERN_ITEM_ELEMENT_MAX || count > TERN_ITEM_COUNT_MAX)
        return tern_writer_fail(
            writer, tern_fail(TERN_ERR_RANGE,
                              "an item of %zu elements of %zu bytes; at most %" PRIu64
                              " of at most %u are allowed",
                              count, element, TERN_ITEM_COUNT_MAX, TERN_ITEM_ELEMENT_MAX));
    if (element * count >= writer->share_min)
        return tern_chunk_write(writer, tern_item_word(type, element, count), items,
                                element * count, NULL);
    if (tern_writer_reserve(writer, 8 + tern_padded(element * count)) != TERN_OK)
        return writer->status;
    return tern_write_items(writer, type, element, items, count);
}

/* Begins a group. While the group is open, its second word holds the position of the group around
 * it; tern_write_end replaces that by the group's length. */
tern_status tern_write_begin(tern_writer *writer, const char *name, uint64_t count) {
    size_t length = name != NULL ? strlen(name) : 0, size = 16 + tern_padded(length);
    if (writer->status != TERN_OK)
        return writer->status;
    if (length > TERN_ITEM_ELEMENT_MAX || count > TERN_ITEM_COUNT_MAX ||
        writer->groups == TERN_GROUPS_MAX)
        return tern_writer_fail(
            writer, tern_fail(TERN_ERR_RANGE,
                              "a group of %" PRIu64
                              ", its name of %zu bytes, inside %u others; at most %" PRIu64
                              ", %u and %u are allowed",
                              count, length, writer->groups, TERN_ITEM_COUNT_MAX,
                              TERN_ITEM_ELEMENT_MAX, TERN_GROUPS_MAX - 1));
    if (tern_writer_reserve(writer, size) != TERN_OK)
        return writer->status;
    char *at = writer->data + writer->bytes;
    uint64_t words[2] = {tern_item_word(TERN_ITEM_BEGIN, length, count), writer->group};
    memset(at + size - 8, 0, 8); /* the padding; the name overwrites the rest */
    memcpy(at, words, sizeof words);
    if (length > 0)
        memcpy(at + sizeof words, name, length);
    writer->group = writer->bytes;
    writer->groups++;
    writer->bytes += size;
    return TERN_OK;
}

tern_status tern_write_end(tern_writer *writer) {
    if (writer->status != TERN_OK)
        return writer->status;
    if (writer->groups == 0)
        return tern_writer_fail(
            writer, tern_fail(TERN_ERR_STATE,
                              "tern_write_end: no group is open; call tern_write_begin first"));
    char *at = writer->data + writer->group;
    uint64_t word = tern_load_word(at), around = tern_load_word(at + 8);
    size_t content = writer->bytes - writer->group - tern_item_size(word);
    if (tern_item_count(word) > content / 8)
        return tern_writer_fail(
            writer, tern_fail(TERN_ERR_ARGUMENT,
                              "tern_write_end: the group was begun for %" PRIu64
                              " items, but has only %zu bytes; write as many items as announced",
                              tern_item_count(word), content));
    if (tern_writer_reserve(writer, 8) != TERN_OK)
        return writer->status;
    uint64_t enclosed = content + 8, end = tern_item_word(TERN_ITEM_END, 0, 0);
    memcpy(writer->data + writer->group + 8, &enclosed, sizeof enclosed);
    memcpy(writer->data + writer->bytes, &end, sizeof end);
    writer->bytes += 8;
    writer->group = (size_t)around;
    writer->groups--;
    return TERN_OK;
}

tern_status tern_writer_finish(const tern_writer *writer, const void **archive, size_t *bytes) {
    if (writer->status != TERN_OK)
        return writer->status;
    if (writer->groups > 0)
        return tern_fail(TERN_ERR_STATE,
                         "%u groups of the archive are still open; end each with tern_write_end",
                         writer->groups);
    *archive = writer->data;
    *bytes = writer->bytes;
    return TERN_OK;
}

void tern_writer_close(tern_writer *writer) {
    if (writer->chunks != NULL)
        tern_chunks_free(writer->chunks);
    /* Most archives of arguments have no heap memory; they save the call of free. */
    if (writer->heap != NULL)
        free(writer->heap);
    *writer = (tern_writer){.status = TERN_ERR_STATE};
}
