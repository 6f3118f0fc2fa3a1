#ifndef TERN_ARCHIVE_H
#define TERN_ARCHIVE_H

/*
 * Archives (HPX, paper 004): values packed one behind the other, each with its type, its
 * element's size and its count, so that a reader can check all of them. What cannot be read is an
 * error, never an overrun: an archive may come from anybody.
 *
 *     byte 0   "tern", version, byte order, bytes of a pointer, 0
 *          8   item: bits 0-3 type, 4-7 place of the content, 8-23 bytes of an element, 24-63 count
 *         16   its content, if its place is here (0), padded with zeros to a multiple of 8
 *              next item
 *
 * Everything starts at a multiple of 8. An archive written on a machine of another byte order or
 * word size is refused. Content whose place is 1 lies outside, in the next of the archive's chunks
 * (tern/chunk.h), and the archive has the item's word alone.
 *
 * Items between a begin and an end are a group: a structure in a structure, or values of a type of
 * the application's (tern/value.h). Its begin (6) has the bytes of its name in place of an element,
 * and is followed by a word with the bytes of what it encloses, its end (7) included, and by its
 * name.
 *
 * A writer or a reader fails once: after its first failure it returns the same status for all that
 * follows, so a row of calls can be checked at its end. One thread at a time uses it; nothing here
 * blocks or needs a context.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tern/status.h"

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

/* What an item is made of. With the element's size it says which type of C. */
typedef enum tern_item_type {
    TERN_ITEM_BYTES = 1, /* no number: a structure, a char */
    TERN_ITEM_SIGNED,
    TERN_ITEM_UNSIGNED, /* bool too */
    TERN_ITEM_FLOAT,
    TERN_ITEM_STRING /* chars; the last one is zero */
} tern_item_type;

/* The largest element, in bytes, and the largest count of an item. */
#define TERN_ITEM_ELEMENT_MAX 65535u
#define TERN_ITEM_COUNT_MAX (((uint64_t)1 << 40) - 1)
/* Groups inside each other, and so how deep reading functions can call each other. */
#define TERN_GROUPS_MAX 128u

/* Not for applications: the members. */
typedef struct tern_writer {
    char *data;
    size_t bytes; /* written */
    size_t room;  /* of data; equal to bytes after a failure, so that nothing fits */
    size_t limit;
    size_t share_min; /* content of so many bytes goes to a chunk; SIZE_MAX: none does */
    struct tern_chunks *chunks;
    size_t capacity; /* what room was before a failure */
    void *heap;      /* data, if it was allocated here */
    size_t group;    /* where the group that is open begins; 0: none is */
    uint32_t groups; /* that are open */
    tern_status status;
} tern_writer;

/* Begins an archive in memory of room bytes, 8-byte aligned, which stays the caller's (NULL and 0:
 * none). What does not fit there goes to heap memory, up to limit bytes in all; so limit <= room
 * never allocates. TERN_ERR_ARGUMENT; TERN_ERR_RANGE: a limit below 8; TERN_ERR_MEMORY. */
TERN_API tern_status tern_writer_open(tern_writer *writer, void *memory, size_t room, size_t limit);

/* [out] archive, bytes: what was written, in the caller's memory or the writer's, valid until the
 * next item is written or the writer is closed. The status of everything up to here;
 * TERN_ERR_STATE: a group has not been ended. */
TERN_NODISCARD TERN_API tern_status tern_writer_finish(const tern_writer *writer,
                                                       const void **archive, size_t *bytes);

/* Begins another archive in the memory that the writer has by now, so that writing as much again
 * allocates nothing. A failure is forgotten. Chunks are let go of. TERN_ERR_STATE: the writer is
 * closed. */
TERN_API tern_status tern_writer_reset(tern_writer *writer);

/* Frees what the writer allocated and lets go of its chunks. */
TERN_API void tern_writer_close(tern_writer *writer);

/* Not for applications: an item that needs more memory or a chunk, or one that is refused. */
TERN_API tern_status tern_write_slowly(tern_writer *writer, tern_item_type type, size_t element,
                                       const void *items, size_t count);

/* Writes an item of count elements. TERN_ERR_RANGE: over the writer's limit, or over the limits of
 * an item; TERN_ERR_ARGUMENT: NULL; TERN_ERR_MEMORY. TERN_WRITE knows type and element's size. */
TERN_INLINE tern_status tern_write_items(tern_writer *writer, tern_item_type type, size_t element,
                                         const void *items, size_t count) {
    /* No overflow where it is looked at: 2^16 by 2^40. */
    size_t bytes = element * count, size = 8 + ((bytes + 7) & ~(size_t)7);
    if (__builtin_expect((items == NULL && count > 0) || element > TERN_ITEM_ELEMENT_MAX ||
                             count > TERN_ITEM_COUNT_MAX || size > writer->room - writer->bytes ||
                             bytes >= writer->share_min,
                         0))
        return tern_write_slowly(writer, type, element, items, count);
    char *item = writer->data + writer->bytes;
    uint64_t header = (uint64_t)count << 24 | (uint64_t)element << 8 | (uint64_t)type, zero = 0;
    memcpy(item + size - 8, &zero, 8); /* the padding, or what is written over */
    memcpy(item, &header, 8);
    if (bytes > 0)
        memcpy(item + 8, items, bytes);
    writer->bytes += size;
    return TERN_OK;
}

/* Writes a string with its final zero. Errors as tern_write_items. */
TERN_INLINE tern_status tern_write_string(tern_writer *writer, const char *text) {
    return tern_write_items(writer, TERN_ITEM_STRING, 1, text, text != NULL ? strlen(text) + 1 : 1);
}

/* Begins a group: up to the end that belongs to it, what is written is its content. name (up to
 * TERN_ITEM_ELEMENT_MAX bytes; NULL: "") has to be the same where it is read; count is handed to
 * the reader, and is at most the number of items that follow in the group. TERN_ERR_RANGE: over a
 * limit, or more than TERN_GROUPS_MAX groups in each other; TERN_ERR_MEMORY. */
TERN_API tern_status tern_write_begin(tern_writer *writer, const char *name, uint64_t count);

/* Ends it. TERN_ERR_STATE: no group is open; TERN_ERR_ARGUMENT: it has fewer items than its count
 * says. */
TERN_API tern_status tern_write_end(tern_writer *writer);

/* Makes the writer fail, for functions that write what they find to be wrong (tern/value.h).
 * Returns the status of its first failure. */
TERN_API tern_status tern_writer_fail(tern_writer *writer, tern_status status);

struct tern_chunk;

/* Not for applications: the members. */
typedef struct tern_reader {
    const char *next;
    size_t left; /* bytes from next on; 0 after a failure */
    size_t bytes;
    const struct tern_chunk *chunk; /* the next one */
    size_t chunks;                  /* from there on */
    uint32_t groups;                /* that are open */
    tern_status status;
} tern_reader;

/* Begins to read an archive, 8-byte aligned, which has to stay while what the reader hands out is
 * used; one with chunks is given them next (tern_reader_chunks). TERN_ERR_RANGE: it is cut off;
 * TERN_ERR_MISMATCH: no archive, or one of another version or kind of machine; TERN_ERR_ARGUMENT.
 */
TERN_API tern_status tern_reader_open(tern_reader *reader, const void *archive, size_t bytes);

/* Ends reading. The status of everything that was read; TERN_ERR_MISMATCH too if there is more, in
 * the archive or in chunks. */
TERN_NODISCARD TERN_API tern_status tern_reader_close(tern_reader *reader);

/* Not for applications: as tern_reader_next, for content in a chunk; else says what is wrong. */
TERN_API const void *tern_reader_seek(tern_reader *reader, tern_item_type type, size_t element,
                                      uint64_t wanted, size_t *count);

/* Not for applications: the content of the next item, 8-byte aligned where it lies in the archive,
 * with wanted elements, or any number (TERN_ITEM_COUNT_MAX); NULL: it is not there. The header is
 * read once: what lies in shared memory may change between a check and a use. */
TERN_INLINE const void *tern_reader_next(tern_reader *reader, tern_item_type type, size_t element,
                                         uint64_t wanted, size_t *count) {
    if (__builtin_expect(reader->left >= 8, 1)) {
        /* R10 */
        uint64_t header =
            __atomic_load_n((const uint64_t *)(const void *)reader->next, __ATOMIC_RELAXED);
        uint64_t items = header >> 24, size = (items * element + 7) & ~(uint64_t)7;
        /* No overflow in size: 2^16 by 2^40, since the element's size is compared. */
        if (__builtin_expect((header & 0xffffff) == ((uint64_t)element << 8 | (uint64_t)type) &&
                                 size <= reader->left - 8 &&
                                 (wanted == TERN_ITEM_COUNT_MAX || wanted == items),
                             1)) {
            const char *content = reader->next + 8;
            reader->next += 8 + size;
            reader->left -= 8 + size;
            *count = (size_t)items;
            return content;
        }
    }
    return tern_reader_seek(reader, type, element, wanted, count);
}

/* Copies the next item, which has to be just that, to items. TERN_ERR_RANGE: the archive is cut
 * off, or an item longer than the rest of it; TERN_ERR_MISMATCH: another type, size or count.
 * TERN_READ knows type and size. */
TERN_INLINE tern_status tern_read_items(tern_reader *reader, tern_item_type type, size_t element,
                                        void *items, size_t count) {
    size_t there = 0;
    const void *content = tern_reader_next(reader, type, element, count, &there);
    if (content == NULL)
        return reader->status;
    if (count > 0)
        memcpy(items, content, element * count);
    return TERN_OK;
}

/* Hands out the next item in place: 8-byte aligned, or, in a chunk that is read where it was
 * written from, as it is there. items: the address of a pointer; [out] count. Errors as
 * tern_read_items. TERN_READ_ARRAY knows type and size. */
TERN_INLINE tern_status tern_read_array(tern_reader *reader, tern_item_type type, size_t element,
                                        void *items, size_t *count) {
    const void *content = tern_reader_next(reader, type, element, TERN_ITEM_COUNT_MAX, count);
    if (content == NULL)
        return reader->status;
    memcpy(items, &content, sizeof content);
    return TERN_OK;
}

/* Not for applications: a string that does not end with zero. */
TERN_API tern_status tern_reader_refuse_string(tern_reader *reader);

/* Hands out the next string in place. [out] text; [out] bytes (may be NULL): with the final zero.
 * Errors as tern_read_items; TERN_ERR_MISMATCH too if it does not end with zero. */
TERN_INLINE tern_status tern_read_string(tern_reader *reader, const char **text, size_t *bytes) {
    size_t count = 0;
    const char *content =
        (const char *)tern_reader_next(reader, TERN_ITEM_STRING, 1, TERN_ITEM_COUNT_MAX, &count);
    if (content == NULL)
        return reader->status;
    if (__builtin_expect(count == 0 || content[count - 1] != 0, 0))
        return tern_reader_refuse_string(reader);
    *text = content;
    if (bytes != NULL)
        *bytes = count;
    return TERN_OK;
}

/* Begins to read a group, which has to have that name (NULL: ""). [out] count: as it was written;
 * no more than there are items in the group, so that it can be allocated for. TERN_ERR_RANGE: cut
 * off, more than TERN_GROUPS_MAX groups in each other, or a count that the group has no room for;
 * TERN_ERR_MISMATCH: no group, or one of another name. */
TERN_API tern_status tern_read_begin(tern_reader *reader, const char *name, uint64_t *count);

/* Ends it, where all of it has been read. TERN_ERR_MISMATCH: something else follows. */
TERN_API tern_status tern_read_end(tern_reader *reader);

/* As tern_writer_fail. */
TERN_API tern_status tern_reader_fail(tern_reader *reader, tern_status status);

#ifdef __cplusplus
}

/* The same as in C below. */
template <typename T> constexpr tern_item_type tern_item_type_of(const T *) {
    using number = typename std::conditional<std::is_enum<T>::value, std::underlying_type<T>,
                                             std::remove_volatile<T>>::type::type;
    return sizeof(T) > 8 || std::is_same<number, char>::value ? TERN_ITEM_BYTES
           : std::is_floating_point<number>::value            ? TERN_ITEM_FLOAT
           : !std::is_integral<number>::value                 ? TERN_ITEM_BYTES
           : std::is_signed<number>::value                    ? TERN_ITEM_SIGNED
                                                              : TERN_ITEM_UNSIGNED;
}

#define TERN_ITEM_TYPE(pointer) tern_item_type_of(pointer)

#else

/* What pointer points to; an enum is what it is stored as. */
/* clang-format off */
#define TERN_ITEM_TYPE(pointer)                                                                    \
    _Generic(*(pointer),                                                                           \
        signed char: TERN_ITEM_SIGNED, short: TERN_ITEM_SIGNED, int: TERN_ITEM_SIGNED,             \
        long: TERN_ITEM_SIGNED, long long: TERN_ITEM_SIGNED,                                       \
        _Bool: TERN_ITEM_UNSIGNED, unsigned char: TERN_ITEM_UNSIGNED,                              \
        unsigned short: TERN_ITEM_UNSIGNED, unsigned: TERN_ITEM_UNSIGNED,                          \
        unsigned long: TERN_ITEM_UNSIGNED, unsigned long long: TERN_ITEM_UNSIGNED,                 \
        float: TERN_ITEM_FLOAT, double: TERN_ITEM_FLOAT,                                           \
        default: TERN_ITEM_BYTES)
/* clang-format on */

#endif

/* The same of a type that is named; the address is never used. */
#define TERN_ITEM_TYPE_OF(type) TERN_ITEM_TYPE((type *)(uintptr_t)8)

/* Writes count elements of the type that items points to; reads just as many of that type; hands
 * out any number of them in place. 1 for a single value. */
#define TERN_WRITE(writer, items, count)                                                           \
    tern_write_items(writer, TERN_ITEM_TYPE(items), sizeof *(items), items, count)
#define TERN_READ(reader, items, count)                                                            \
    tern_read_items(reader, TERN_ITEM_TYPE(items), sizeof *(items), items, count)
#define TERN_READ_ARRAY(reader, items, count)                                                      \
    tern_read_array(reader, TERN_ITEM_TYPE((__typeof__(*(items)))0),                               \
                    sizeof(*(__typeof__(*(items)))0), items, count)

#endif
