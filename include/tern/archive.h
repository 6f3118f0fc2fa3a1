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
 * (tern_chunk), and the archive has the item's word alone.
 *
 * Items between a begin and an end are a group: a structure in a structure, or values of a type of
 * the application's (tern_type). Its begin (6) has the bytes of its name in place of an element,
 * and is followed by a word with the bytes of what it encloses, its end (7) included, and by its
 * name.
 *
 * A writer or a reader fails once: after its first failure it returns the same status for all that
 * follows, so a row of calls can be checked at its end. One thread at a time uses it; nothing here
 * blocks or needs a context, but for tern_call_archive and the others at the end, which take an
 * archive along as the arguments of a call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tern/call.h"
#include "tern/ptr.h"
#include "tern/request.h"
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

/* What writes an archive. Its members are tern's own. */
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
TERN_API tern_status tern_internal_write_slowly(tern_writer *writer, tern_item_type type,
                                                size_t element, const void *items, size_t count);

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
        return tern_internal_write_slowly(writer, type, element, items, count);
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

/* Makes the writer fail, for functions that write what they find to be wrong (tern_type).
 * Returns the status of its first failure. */
TERN_API tern_status tern_writer_fail(tern_writer *writer, tern_status status);

struct tern_chunk;

/* What reads an archive. Its members are tern's own. */
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

/* Not for applications: as tern_internal_reader_next, for content in a chunk; else says what is
 * wrong. */
TERN_API const void *tern_internal_reader_seek(tern_reader *reader, tern_item_type type,
                                               size_t element, uint64_t wanted, size_t *count);

/* Not for applications: the content of the next item, 8-byte aligned where it lies in the archive,
 * with wanted elements, or any number (TERN_ITEM_COUNT_MAX); NULL: it is not there. The header is
 * read once: what lies in shared memory may change between a check and a use. */
TERN_INLINE const void *tern_internal_reader_next(tern_reader *reader, tern_item_type type,
                                                  size_t element, uint64_t wanted, size_t *count) {
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
    return tern_internal_reader_seek(reader, type, element, wanted, count);
}

/* Copies the next item, which has to be just that, to items. TERN_ERR_RANGE: the archive is cut
 * off, or an item longer than the rest of it; TERN_ERR_MISMATCH: another type, size or count.
 * TERN_READ knows type and size. */
TERN_INLINE tern_status tern_read_items(tern_reader *reader, tern_item_type type, size_t element,
                                        void *items, size_t count) {
    size_t there = 0;
    const void *content = tern_internal_reader_next(reader, type, element, count, &there);
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
    const void *content =
        tern_internal_reader_next(reader, type, element, TERN_ITEM_COUNT_MAX, count);
    if (content == NULL)
        return reader->status;
    memcpy(items, &content, sizeof content);
    return TERN_OK;
}

/* Not for applications: a string that does not end with zero. */
TERN_API tern_status tern_internal_reader_refuse_string(tern_reader *reader);

/* Hands out the next string in place. [out] text; [out] bytes (may be NULL): with the final zero.
 * Errors as tern_read_items; TERN_ERR_MISMATCH too if it does not end with zero. */
TERN_INLINE tern_status tern_read_string(tern_reader *reader, const char **text, size_t *bytes) {
    size_t count = 0;
    const char *content = (const char *)tern_internal_reader_next(reader, TERN_ITEM_STRING, 1,
                                                                  TERN_ITEM_COUNT_MAX, &count);
    if (content == NULL)
        return reader->status;
    if (__builtin_expect(count == 0 || content[count - 1] != 0, 0))
        return tern_internal_reader_refuse_string(reader);
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

/* A type of the application's own (HPX, paper 004, section 3), described once:
 *
 *     static tern_status write_node(tern_writer *w, const void *value);
 *     static tern_status read_node(tern_reader *r, void *value);
 *     static const tern_type node = {"node", sizeof(struct node), write_node, read_node};
 *
 *     tern_write_values(w, &node, nodes, count);      an array; 1 for one value
 *     tern_write_list(w, &node, first, next, NULL);   a linked list
 *     tern_read_values(r, &node, nodes, count);       into memory that is there
 *     tern_read_list(r, &node, add, &list);           into memory that is made one by one
 *
 * What was written as an array can be read as a list, and the other way round. Types without
 * functions are copied bit by bit, an array of them at once. A function may write anything, values
 * of its own type too, up to TERN_GROUPS_MAX inside each other, and reads just that: at least one
 * item a value. What it returns, when it is not TERN_OK, becomes the status of the writer or
 * reader.
 *
 * In the archive values are a group that has the type's name and their count; without functions the
 * count is that of the items among which they are spread. The name is the same wherever the type is
 * written and read; the structure and its functions stay as long as they are used. */
typedef struct tern_type {
    const char *name;
    size_t bytes; /* of a value in memory; 1 or more */
    tern_status (*write)(tern_writer *writer, const void *value);
    tern_status (*read)(tern_reader *reader, void *value);
} tern_type;

/* Writes count values that lie side by side. TERN_ERR_ARGUMENT: NULL, a type of 0 bytes, or one
 * with a function of only one kind; and what tern_write_begin, tern_write_items and the type's
 * function give. */
TERN_API tern_status tern_write_values(tern_writer *writer, const tern_type *type,
                                       const void *values, size_t count);

/* Writes a list from first (NULL: it is empty) to the value after which next gives NULL. It is
 * walked twice and must not change meanwhile. Errors as tern_write_values. */
TERN_API tern_status tern_write_list(tern_writer *writer, const tern_type *type, const void *first,
                                     const void *(*next)(const void *value, void *user),
                                     void *user);

/* Reads just count values to values. TERN_ERR_MISMATCH: there are more or fewer, of another name or
 * size; and what tern_read_begin, tern_read_items and the type's function give. What was read
 * before a failure is the caller's to dispose of. */
TERN_API tern_status tern_read_values(tern_reader *reader, const tern_type *type, void *values,
                                      size_t count);

/* Reads each value to the memory that add gives for it; left: values that are still to come, this
 * one included, of which there is no more than the archive has bytes. add returns NULL when there
 * is no memory: TERN_ERR_MEMORY. Other errors as tern_read_values. */
TERN_API tern_status tern_read_list(tern_reader *reader, const tern_type *type,
                                    void *(*add)(void *user, uint64_t left), void *user);

struct tern_buffer;

/* The content of one item that is not copied into the archive (HPX, paper 004, 3.1 and 3.4).
 *
 * A writer that shares leaves content at and over a threshold where it is, and keeps a list of such
 * chunks beside the archive, which is then an index of small items: *pointer chunks* in private
 * memory, which can be fetched only with its owner's help, and *RMA chunks* in the rank's segment
 * or in registered memory, which have a global pointer that any rank can get from. The reader is
 * given the archive and, for each chunk in turn, the memory where its content lies by then: that of
 * the writer, in the same process; else a copy. gather puts archive and chunks together again. */
typedef struct tern_chunk {
    const void *memory; /* in this process */
    size_t bytes;
    tern_ptr place;             /* of an RMA chunk; TERN_NULL: a pointer chunk */
    struct tern_buffer *buffer; /* that memory is part of (tern/buffer.h), or NULL */
} tern_chunk;

/* From now on content of min bytes or more (0: TERN_ZERO_COPY_MIN of the worker's context, for
 * which worker is needed) goes to chunks; the writer's limit does not count it. It must stay,
 * unchanged, until the archive has been read or sent, or the writer reset or closed. worker NULL:
 * all are pointer chunks; else the memory is looked up among what the rank has allocated and
 * registered. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; the writer fails. Stays in force over
 * tern_writer_reset. */
TERN_API tern_status tern_writer_share(tern_writer *writer, tern_worker *worker, size_t min);

/* The chunks so far, in the order of their items; valid until the next item. [out] count. NULL if
 * there are none. */
TERN_API const tern_chunk *tern_writer_chunks(const tern_writer *writer, size_t *count);

/* Copies archive and chunks to memory of room bytes, 8-byte aligned, as one archive without chunks,
 * as if nothing had been shared. memory NULL: counts only. [out] bytes: how many it is.
 * TERN_ERR_RANGE: room is too small; bytes says what is needed. Else as tern_writer_finish. */
TERN_NODISCARD TERN_API tern_status tern_writer_gather(const tern_writer *writer, void *memory,
                                                       size_t room, size_t *bytes);

/* Where the content of chunks lies, in order, after tern_reader_open; the list and the memory stay
 * while the reader is used. Each is checked against its item when that is read. TERN_ERR_ARGUMENT:
 * NULL, or a chunk with no memory. */
TERN_API tern_status tern_reader_chunks(tern_reader *reader, const tern_chunk *chunks,
                                        size_t count);

/* The largest chunk in bytes, and the most of them in a call; half a ring has to hold their list,
 * 32 bytes each. */
#define TERN_CHUNK_MAX TERN_BUFFER_MAX
#define TERN_CALL_CHUNKS_MAX 4096u

/* All zero does for most. Both synchronizers are raised now and have to be of this node. */
typedef struct tern_archive_options {
    tern_full full;
    const tern_synchronizer *reusable; /* lowered when the memory of the chunks may be reused */
    const tern_synchronizer *executed; /* lowered when the function has run */
    bool aside; /* later calls of the pair do not wait for this one's chunks */
} tern_archive_options;

/* Runs function on target with the archive that writer holds (HPX, paper 004). What a writer that
 * shares has left where it is travels without a copy at the caller's: the archive goes with the
 * call, the target gets each chunk straight into memory that its function may keep, and the
 * function runs once all are there.
 *
 *     tern_writer_share(&writer, worker, 0);
 *     TERN_WRITE(&writer, &step, 1);
 *     tern_write_vector(&writer, &field);                       not copied here
 *     tern_call_archive(worker, target, &advance_function, &writer, NULL);
 *     tern_writer_close(&writer);  tern_vector_destroy(&field);  both may go at once
 *
 *     static tern_status advance(tern_call_info *call, const void *arguments, size_t bytes) {
 *         tern_reader reader;
 *         tern_call_reader(call, arguments, bytes, &reader);
 *         TERN_READ(&reader, &step, 1);
 *         TERN_READ_VECTOR(&reader, call->worker, double, &field);    takes the memory over
 *         return tern_reader_close(&reader);
 *     }
 *
 * A chunk in a segment, or registered, is got by its global pointer. One in private memory is read
 * by a target of the same node straight from there, where the system allows that; otherwise it is
 * copied to this rank's segment first, which bytes_staged counts. bytes_got counts what targets
 * get.
 *
 * The writer may be reset or closed, and buffers that it keeps dropped, as soon as this returns;
 * other memory of chunks stays as it is until reusable says so. An archive too large for a ring
 * goes as a chunk itself, by a copy. A target keeps chunks of TERN_OVERFLOW_MEMORY bytes at most,
 * or those of one call; they lie in its segment, or in its heap memory when that is full.
 *
 * Where a chunk cannot be got the function does not run, which is logged and counted there and
 * logged here; both synchronizers are lowered all the same.
 *
 * The status of the writer, if it has failed. TERN_ERR_AGAIN as options->full says for a full ring,
 * and likewise for TERN_CALL_REQUESTS calls with chunks under way, which share their number with
 * results; in a handler never waits. TERN_ERR_RANGE: a chunk over TERN_CHUNK_MAX, or more than
 * TERN_CALL_CHUNKS_MAX. TERN_ERR_MEMORY: none to stage a chunk in. Else as tern_call_with. */
TERN_NODISCARD TERN_API tern_status tern_call_archive(tern_worker *worker, tern_worker_id target,
                                                      const tern_function *function,
                                                      const tern_writer *writer,
                                                      const tern_archive_options *options);

/* The same for a function whose result is wanted, with a request (tern/request.h). Chunks that are
 * no buffers stay as they are until it is complete. One with chunks takes two of
 * TERN_CALL_REQUESTS. Where a chunk cannot be got the outcome is that error. Waits for a full ring,
 * or for earlier calls whose chunks are under way; in a handler TERN_ERR_AGAIN. Else as
 * tern_call_archive and tern_call_start. */
TERN_NODISCARD TERN_API tern_status tern_call_archive_start(tern_worker *worker,
                                                            tern_worker_id target,
                                                            const tern_function *function,
                                                            const tern_writer *writer, void *result,
                                                            size_t capacity, tern_request *request);

/* Begins to read the arguments of a call, in its handler, chunks included. [out] reader: to be used
 * until the handler returns; buffers and vectors that were read stay. Errors as tern_reader_open.
 */
TERN_NODISCARD TERN_API tern_status tern_call_reader(const tern_call_info *call,
                                                     const void *arguments, size_t bytes,
                                                     tern_reader *reader);

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
