#ifndef TERN_ARCHIVE_H
#define TERN_ARCHIVE_H

/*
 * Archives (HPX, paper 004): values packed one behind the other, each with its type, the size of an
 * element and the number of elements, so that a reader can check each value. An archive may come
 * from anybody: a reader that meets malformed data returns an error and never reads beyond the end.
 *
 *     byte 0   "tern", version, byte order, bytes of a pointer, 0
 *          8   item: bits 0-3 type, 4-7 place of the content, 8-23 bytes of an element, 24-63 count
 *         16   its content, if its place is here (0), padded with zeros to a multiple of 8
 *              next item
 *
 * Everything starts at a multiple of 8. An archive written on a machine of another byte order or
 * word size is refused. Content whose place is 1 lies outside the archive, in the next of its
 * chunks (tern_chunk); the archive then has only the item's first word.
 *
 * Items between a begin and an end are a group: a structure in a structure, or values of a type of
 * the application's (tern_type). The item that begins it (type 6) has the length of the group's
 * name where others have the size of an element. Behind it come a word with the number of bytes
 * that the group encloses, its end (type 7) included, and then the name.
 *
 * A writer or a reader keeps its first failure: every later call on it returns the same status, so
 * a program can make a row of calls and check the status once, at the end. One thread at a time
 * uses a writer or a reader. Buffers and vectors (below) are memory that an archive takes along
 * without a copy. No function here blocks or needs a context, except tern_call_archive and the
 * others at the end, which send an archive as the arguments of a call.
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
extern "C" {
#endif

/* What the elements of an item are. Together with the size of an element it tells the type in C. */
typedef enum tern_item_type {
    TERN_ITEM_BYTES = 1, /* not a number: a structure, a char */
    TERN_ITEM_SIGNED,
    TERN_ITEM_UNSIGNED, /* bool too */
    TERN_ITEM_FLOAT,
    TERN_ITEM_STRING /* chars; the last one is zero */
} tern_item_type;

/* The largest element, in bytes, and the largest count of an item. */
#define TERN_ITEM_ELEMENT_MAX 65535u
#define TERN_ITEM_COUNT_MAX (((uint64_t)1 << 40) - 1)
/* How deep groups can be nested, and so how deep reading functions can call each other. */
#define TERN_GROUPS_MAX 128u

/* What writes an archive. Its members are tern's own. */
typedef struct tern_writer {
    char *data;
    size_t bytes; /* written */
    size_t room;  /* of data; equal to bytes after a failure, so that nothing fits */
    size_t limit;
    size_t share_min; /* content of this many bytes or more goes to a chunk; SIZE_MAX: none does */
    struct tern_chunks *chunks;
    size_t capacity; /* what room was before a failure */
    void *heap;      /* data, if it was allocated here */
    size_t group;    /* where the open group begins; 0: no group is open */
    uint32_t groups; /* that are open */
    tern_status status;
} tern_writer;

/* Begins an archive in the caller's memory of room bytes, 8-byte aligned (NULL and 0: no such
 * memory). If the archive outgrows it, the writer allocates heap memory, up to limit bytes for the
 * whole archive; with limit <= room it never allocates. TERN_ERR_ARGUMENT; TERN_ERR_RANGE: a limit
 * below 8; TERN_ERR_MEMORY. */
TERN_API tern_status tern_writer_open(tern_writer *writer, void *memory, size_t room, size_t limit);

/* Gives the archive to send or read. [out] archive, bytes: what was written so far, in the caller's
 * memory or the writer's, valid until the next item is written or the writer is closed. Returns the
 * first failure of the writer, or TERN_OK; TERN_ERR_STATE: a group has not been ended. */
TERN_NODISCARD TERN_API tern_status tern_writer_finish(const tern_writer *writer,
                                                       const void **archive, size_t *bytes);

/* Begins another archive in the memory that the writer has by now, so that an archive of the same
 * size allocates nothing. The writer forgets its failure and drops its chunks. TERN_ERR_STATE: the
 * writer is closed. */
TERN_API tern_status tern_writer_reset(tern_writer *writer);

/* Frees what the writer allocated and drops its chunks. */
TERN_API void tern_writer_close(tern_writer *writer);

/* Not for applications: writes any item. Gets more memory or makes a chunk if the item needs it.
 * Returns the same errors as tern_write_items. */
TERN_API tern_status tern_internal_write_any(tern_writer *writer, tern_item_type type,
                                             size_t element, const void *items, size_t count);

/* Writes an item of count elements. TERN_ERR_RANGE: over the writer's limit, or over the limits of
 * an item; TERN_ERR_ARGUMENT: NULL; TERN_ERR_MEMORY. The macro TERN_WRITE fills in the type and the
 * size of an element. */
TERN_INLINE tern_status tern_write_items(tern_writer *writer, tern_item_type type, size_t element,
                                         const void *items, size_t count) {
    /* Neither product overflows once the limits below have been checked: at most 2^16 times 2^40.
     */
    size_t bytes = element * count, size = 8 + ((bytes + 7) & ~(size_t)7);
    if (__builtin_expect((items == NULL && count > 0) || element > TERN_ITEM_ELEMENT_MAX ||
                             count > TERN_ITEM_COUNT_MAX || size > writer->room - writer->bytes ||
                             bytes >= writer->share_min,
                         0))
        return tern_internal_write_any(writer, type, element, items, count);
    char *item = writer->data + writer->bytes;
    uint64_t header = (uint64_t)count << 24 | (uint64_t)element << 8 | (uint64_t)type, zero = 0;
    memcpy(item + size - 8, &zero, 8); /* the padding; the content overwrites the rest */
    memcpy(item, &header, 8);
    if (bytes > 0)
        memcpy(item + 8, items, bytes);
    writer->bytes += size;
    return TERN_OK;
}

/* Writes a string with its final zero. Returns the same errors as tern_write_items. */
TERN_INLINE tern_status tern_write_string(tern_writer *writer, const char *text) {
    return tern_write_items(writer, TERN_ITEM_STRING, 1, text, text != NULL ? strlen(text) + 1 : 1);
}

/* Begins a group: everything that is written before the matching tern_write_end belongs to it. The
 * reader must pass the same name (up to TERN_ITEM_ELEMENT_MAX bytes; NULL: ""). The reader gets
 * count, which must not exceed the number of items that follow in the group. TERN_ERR_RANGE: over a
 * limit, or more than TERN_GROUPS_MAX groups nested; TERN_ERR_MEMORY. */
TERN_API tern_status tern_write_begin(tern_writer *writer, const char *name, uint64_t count);

/* Ends the group that was begun last. TERN_ERR_STATE: no group is open; TERN_ERR_ARGUMENT: the
 * group has fewer items than its count says. */
TERN_API tern_status tern_write_end(tern_writer *writer);

/* Makes the writer fail with status. For functions of a tern_type that are given a value which they
 * cannot write. Returns the status of the writer's first failure. */
TERN_API tern_status tern_writer_fail(tern_writer *writer, tern_status status);

struct tern_chunk;

/* What reads an archive. Its members are tern's own. */
typedef struct tern_reader {
    const char *next;
    size_t left; /* unread bytes, from next on; 0 after a failure */
    size_t bytes;
    const struct tern_chunk *chunk; /* the next one */
    size_t chunks;                  /* from there on */
    uint32_t groups;                /* that are open */
    tern_status status;
} tern_reader;

/* Begins to read an archive, 8-byte aligned. The archive must stay in place while the program uses
 * what the reader hands out. If it has chunks, call tern_reader_chunks next. TERN_ERR_RANGE: the
 * archive is cut off; TERN_ERR_MISMATCH: the bytes are not an archive, or one of another version or
 * kind of machine; TERN_ERR_ARGUMENT. */
TERN_API tern_status tern_reader_open(tern_reader *reader, const void *archive, size_t bytes);

/* Ends reading. Returns the first failure of the reader, or TERN_OK; TERN_ERR_MISMATCH also if the
 * archive has items or chunks that were not read. */
TERN_NODISCARD TERN_API tern_status tern_reader_close(tern_reader *reader);

/* Not for applications: does what tern_internal_reader_next does, for content in a chunk. If there
 * is no such item it makes the reader fail and says why. */
TERN_API const void *tern_internal_reader_seek(tern_reader *reader, tern_item_type type,
                                               size_t element, uint64_t wanted, size_t *count);

/* Not for applications: returns the content of the next item, which is 8-byte aligned if it lies in
 * the archive, or NULL if the next item is not as asked for. wanted: its number of elements;
 * TERN_ITEM_COUNT_MAX: any number. The header is read once, because in shared memory it could
 * change between the check and the use. */
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

/* Copies the next item to items. It must have this type, element and count. TERN_ERR_RANGE: the
 * archive is cut off, or the item is longer than the rest of it; TERN_ERR_MISMATCH: the item has
 * another type, size or count. The macro TERN_READ fills in type and size. */
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

/* Hands out the next item without a copy. items: the address of a pointer to its elements; [out]
 * count. The elements are 8-byte aligned, unless they lie in a chunk that is read from the writer's
 * own memory: then they are aligned as there. Returns the same errors as tern_read_items. The macro
 * TERN_READ_ARRAY fills in type and size. */
TERN_INLINE tern_status tern_read_array(tern_reader *reader, tern_item_type type, size_t element,
                                        void *items, size_t *count) {
    const void *content =
        tern_internal_reader_next(reader, type, element, TERN_ITEM_COUNT_MAX, count);
    if (content == NULL)
        return reader->status;
    memcpy(items, &content, sizeof content);
    return TERN_OK;
}

/* Not for applications: makes the reader fail because a string does not end with zero. */
TERN_API tern_status tern_internal_reader_refuse_string(tern_reader *reader);

/* Hands out the next string without a copy. [out] text; [out] bytes (may be NULL): its size with
 * the final zero. Returns the same errors as tern_read_items; TERN_ERR_MISMATCH also if the string
 * does not end with zero. */
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

/* Begins to read a group, which must have this name (NULL: ""). [out] count: the count that was
 * written. It is at most the number of items in the group, so a program may allocate that many.
 * TERN_ERR_RANGE: the archive is cut off, more than TERN_GROUPS_MAX groups are nested, or count is
 * larger than the group; TERN_ERR_MISMATCH: the next item is not a group, or one of another name.
 */
TERN_API tern_status tern_read_begin(tern_reader *reader, const char *name, uint64_t *count);

/* Ends the group after the last of its items has been read. TERN_ERR_MISMATCH: items of the group
 * are left. */
TERN_API tern_status tern_read_end(tern_reader *reader);

/* Makes the reader fail with status, as tern_writer_fail does a writer. */
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
 * functions are copied bit by bit, an array of them at once. A write function may write any items,
 * at least one for each value, also values of its own type, nested up to TERN_GROUPS_MAX deep. The
 * read function must read exactly what the write function wrote. A status other than TERN_OK that
 * one of them returns becomes the status of the writer or reader.
 *
 * In the archive the values are a group with the type's name and their count. For a type without
 * functions the count is the number of items over which the values are spread. The program uses the
 * same name where it writes the type and where it reads it. The structure and its functions must
 * stay valid as long as they are used. */
typedef struct tern_type {
    const char *name;
    size_t bytes; /* of a value in memory; 1 or more */
    tern_status (*write)(tern_writer *writer, const void *value);
    tern_status (*read)(tern_reader *reader, void *value);
} tern_type;

/* Writes count values that lie side by side. TERN_ERR_ARGUMENT: NULL, a type of 0 bytes, or a type
 * with only one of its two functions; and the errors of tern_write_begin, tern_write_items and the
 * type's function. */
TERN_API tern_status tern_write_values(tern_writer *writer, const tern_type *type,
                                       const void *values, size_t count);

/* Writes a list from first (NULL: the list is empty) to the value for which next returns NULL. tern
 * walks the list twice; it must not change meanwhile. Returns the same errors as tern_write_values.
 */
TERN_API tern_status tern_write_list(tern_writer *writer, const tern_type *type, const void *first,
                                     const void *(*next)(const void *value, void *user),
                                     void *user);

/* Reads exactly count values to values. TERN_ERR_MISMATCH: there are more or fewer, or their name
 * or size differs; and the errors of tern_read_begin, tern_read_items and the type's function.
 * After a failure the caller disposes of the values that were read before it. */
TERN_API tern_status tern_read_values(tern_reader *reader, const tern_type *type, void *values,
                                      size_t count);

/* Reads each value to the memory that add returns for it. left: how many values are still to come,
 * this one included; never more than the archive has bytes. If add returns NULL the status is
 * TERN_ERR_MEMORY. Other errors are those of tern_read_values. */
TERN_API tern_status tern_read_list(tern_reader *reader, const tern_type *type,
                                    void *(*add)(void *user, uint64_t left), void *user);

struct tern_buffer;

/* The content of one item that is not copied into the archive (HPX, paper 004, 3.1 and 3.4).
 *
 * A writer that shares leaves content at and over a threshold where it is, and keeps a list of such
 * chunks beside the archive, which is then an index of small items: *pointer chunks* in private
 * memory, which other ranks can fetch only with its owner's help, and *RMA chunks* in the rank's
 * segment or in registered memory, which have a global pointer that any rank can get from. The
 * program gives the reader the archive and, for each chunk in turn, the memory that holds its
 * content: the writer's memory in the same process, else a copy. tern_writer_gather makes one
 * archive of archive and chunks. */
typedef struct tern_chunk {
    const void *memory; /* in this process */
    size_t bytes;
    tern_ptr place;             /* of an RMA chunk; TERN_NULL: a pointer chunk */
    struct tern_buffer *buffer; /* that memory is part of, or NULL */
} tern_chunk;

/* From now on the writer makes content of min bytes or more a chunk and does not copy it; the
 * writer's limit does not count it. min 0: TERN_ZERO_COPY_MIN of the worker's context, which needs
 * a worker. The program must keep the content unchanged until the archive has been read or sent, or
 * the writer reset or closed. worker NULL: all chunks are pointer chunks; else tern looks the
 * memory up among what the rank has allocated and registered. The setting survives
 * tern_writer_reset. TERN_ERR_ARGUMENT; TERN_ERR_MEMORY; the writer fails then. */
TERN_API tern_status tern_writer_share(tern_writer *writer, tern_worker *worker, size_t min);

/* Returns the chunks so far, in the order of their items; valid until the next item is written.
 * [out] count: their number. NULL if there are no chunks. */
TERN_API const tern_chunk *tern_writer_chunks(const tern_writer *writer, size_t *count);

/* Copies archive and chunks to memory of room bytes, 8-byte aligned, as one archive without chunks,
 * as if the writer had not shared. memory NULL: only counts the bytes. [out] bytes: the size of
 * that archive. TERN_ERR_RANGE: room is too small; bytes says how much is needed. Other statuses
 * are those of tern_writer_finish. */
TERN_NODISCARD TERN_API tern_status tern_writer_gather(const tern_writer *writer, void *memory,
                                                       size_t room, size_t *bytes);

/* Tells the reader where the content of the chunks lies, in the order of their items. Call it after
 * tern_reader_open. The list and the memory must stay valid while the reader is used. The reader
 * checks each chunk against its item when it reads the item. TERN_ERR_ARGUMENT: NULL, or a chunk
 * with no memory. */
TERN_API tern_status tern_reader_chunks(tern_reader *reader, const tern_chunk *chunks,
                                        size_t count);

/* Buffers: memory with a count of references (HPX, paper 004, 3.2 and 3.4). An archive that shares
 * holds a reference until it has been sent, so the program that wrote it may drop its own at once.
 * A received buffer can be passed on without a copy. When the last reference is dropped the memory
 * goes back to where it came from: heap memory, a segment, or a function of the application.
 *
 * Threads: each reference is one thread's, and may be passed to another; keep and drop on the same
 * buffer may run in any threads at the same time. All references share the memory: write to it only
 * while there is one reference, or as the application arranges. What a thread does to the memory
 * before it drops its reference happens before the release, and before tern_buffer_alone returns
 * true in another thread.
 *
 * The members of a buffer are tern's own. */
typedef struct tern_buffer tern_buffer;

/* Gives the memory back. Runs in the thread that drops the last reference, and must not wait. */
typedef void (*tern_buffer_release)(void *data, size_t bytes, void *user);

/* Creates a buffer with memory of its own, 64-byte aligned, its content undefined. The memory lies
 * in the segment of the worker's rank, so that other ranks can get from it, or, if worker is NULL,
 * in heap memory. [out] buffer, with one reference. Drop buffers in a segment before the context is
 * destroyed. TERN_ERR_ARGUMENT: buffer is NULL; TERN_ERR_MEMORY. Local, never blocks, any thread.
 */
TERN_NODISCARD TERN_API tern_status tern_buffer_create(struct tern_worker *worker, size_t bytes,
                                                       tern_buffer **buffer);

/* Creates a buffer around memory of the caller's. After the last drop tern calls release (NULL:
 * nothing is called) with data, bytes and user. TERN_ERR_ARGUMENT: NULL; TERN_ERR_MEMORY: release
 * is not called. Local, never blocks, any thread. */
TERN_NODISCARD TERN_API tern_status tern_buffer_wrap(void *data, size_t bytes,
                                                     tern_buffer_release release, void *user,
                                                     tern_buffer **buffer);

/* Adds a reference and returns buffer. NULL is fine, here and below. */
TERN_API tern_buffer *tern_buffer_keep(tern_buffer *buffer);
/* Removes a reference; the last removal gives the memory back. */
TERN_API void tern_buffer_drop(tern_buffer *buffer);
/* Returns whether the caller's reference is the only one. */
TERN_API bool tern_buffer_alone(const tern_buffer *buffer);

/* Returns the address of the buffer's first byte. */
TERN_API void *tern_buffer_data(const tern_buffer *buffer);
/* Returns the number of the buffer's bytes. */
TERN_API size_t tern_buffer_bytes(const tern_buffer *buffer);
/* Returns the global pointer to the buffer if it was created in a segment; else TERN_NULL. */
TERN_API tern_ptr tern_buffer_place(const tern_buffer *buffer);

/* Writes the buffer as an item of bytes. A writer that shares holds a reference to a buffer of its
 * threshold or more until the writer is reset or closed; otherwise the writer copies the content.
 * Returns the same errors as tern_write_items; TERN_ERR_ARGUMENT: NULL. */
TERN_API tern_status tern_write_buffer(tern_writer *writer, tern_buffer *buffer);

/* Reads an item of bytes. [out] buffer: if the item's chunk is a buffer, a new reference to it,
 * without a copy. Otherwise a new buffer, as tern_buffer_create makes it, with a copy of the
 * content; it lies in heap memory if the segment is full. Returns the same errors as
 * tern_read_array and tern_buffer_create. */
TERN_API tern_status tern_read_buffer(tern_reader *reader, struct tern_worker *worker,
                                      tern_buffer **buffer);

/* Vectors: growable arrays in a buffer, in a rank's segment or in heap memory (HPX's rma_vector
 * and, with one element, its rma_object: paper 004, 3.4).
 *
 *     tern_vector v;
 *     TERN_VECTOR_CREATE(worker, double, 1000, &v);
 *     double *values = tern_vector_data(&v);
 *     tern_write_vector(&writer, &v);                     an RMA chunk, if the writer shares
 *     TERN_READ_VECTOR(&reader, worker, double, &w);      w has the memory, with no copy
 *     tern_vector_destroy(&w);                            which goes back to where it came from
 *
 * Vectors that share (tern_vector_share) have the same memory until one of them grows or takes a
 * copy of its own (tern_vector_own). Writing to elements copies nothing: all vectors that share see
 * the change.
 *
 * Threads: one thread at a time uses a vector; different threads may use vectors that share memory,
 * with the rules of buffers. The worker only names the segment, so any thread may pass it. All
 * functions are local and never block.
 *
 * The members of a vector are tern's own. */
typedef struct tern_vector {
    tern_buffer *buffer; /* NULL: no memory yet */
    struct tern_worker *worker;
    size_t count;
    size_t element;
    tern_item_type type;
} tern_vector;

/* Creates a vector of count elements, their content undefined, in the segment of the worker's rank;
 * worker NULL: in heap memory. [out] vector. TERN_ERR_ARGUMENT: NULL, or an element of 0 bytes;
 * TERN_ERR_RANGE: an element or a count over the limits of an archive's item; TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_vector_create(struct tern_worker *worker,
                                                       tern_item_type type, size_t element,
                                                       size_t count, tern_vector *vector);
#define TERN_VECTOR_CREATE(worker, ctype, count, vector)                                           \
    tern_vector_create(worker, TERN_ITEM_TYPE_OF(ctype), sizeof(ctype), count, vector)

/* Drops the memory. The vector is empty then and can be used again, or left. */
TERN_API void tern_vector_destroy(tern_vector *vector);

/* Returns the address of the first element, or NULL if the vector never had one; valid until the
 * vector grows. */
TERN_INLINE void *tern_vector_data(const tern_vector *vector) {
    return tern_buffer_data(vector->buffer);
}
/* Returns the number of elements. */
TERN_INLINE size_t tern_vector_count(const tern_vector *vector) { return vector->count; }
/* Returns the global pointer to the first element; TERN_NULL if it lies in heap memory. */
TERN_INLINE tern_ptr tern_vector_place(const tern_vector *vector) {
    return tern_buffer_place(vector->buffer);
}

/* Sets the number of elements to count. New elements have undefined content. The memory grows by
 * doubling and is not given back before the vector is destroyed. If it is shared or too small the
 * elements are copied to new memory. TERN_ERR_RANGE; TERN_ERR_MEMORY; after an error the vector is
 * as it was. */
TERN_NODISCARD TERN_API tern_status tern_vector_resize(tern_vector *vector, size_t count);

/* Appends count elements, which may lie in the vector. Returns the same errors as
 * tern_vector_resize; TERN_ERR_ARGUMENT: NULL. */
TERN_NODISCARD TERN_API tern_status tern_vector_append(tern_vector *vector, const void *elements,
                                                       size_t count);

/* Makes sure that no other vector or buffer shares the memory: copies it if one does.
 * TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_vector_own(tern_vector *vector);

/* Makes a vector with the same memory. [out] to: overwritten; memory that it had is not dropped. */
TERN_API void tern_vector_share(const tern_vector *from, tern_vector *to);

/* Moves the memory and elements of from to another vector; from is empty then. [out] to:
 * overwritten; memory that it had is not dropped. */
TERN_API void tern_vector_move(tern_vector *from, tern_vector *to);

/* Writes the elements as one item. If they have the size of its threshold or more, a writer that
 * shares holds a reference to their memory instead of copying. Returns the same errors as
 * tern_write_items. */
TERN_API tern_status tern_write_vector(tern_writer *writer, const tern_vector *vector);

/* Reads an item of elements of this type. [out] vector: overwritten; memory that it had is not
 * dropped. It gets the memory of the item's chunk if that is a buffer, else a copy in the worker's
 * segment or in heap memory. The vector takes memory from there when it grows, too. Returns the
 * same errors as tern_read_array and tern_vector_create. */
TERN_API tern_status tern_read_vector(tern_reader *reader, struct tern_worker *worker,
                                      tern_item_type type, size_t element, tern_vector *vector);
#define TERN_READ_VECTOR(reader, worker, ctype, vector)                                            \
    tern_read_vector(reader, worker, TERN_ITEM_TYPE_OF(ctype), sizeof(ctype), vector)

/* The largest chunk in bytes, and the most chunks of a call. The list of a call's chunks, 32 bytes
 * for each, must fit half a ring. */
#define TERN_CHUNK_MAX TERN_BUFFER_MAX
#define TERN_CALL_CHUNKS_MAX 4096u

/* Options of tern_call_archive; most programs leave them all zero. The call raises both
 * synchronizers at once, so their counters must lie on this node. */
typedef struct tern_archive_options {
    tern_full full;
    const tern_synchronizer *reusable; /* lowered when the memory of the chunks may be reused */
    const tern_synchronizer *executed; /* lowered when the function has run */
    bool aside; /* later calls of this pair of workers do not wait for the chunks of this call */
} tern_archive_options;

/* Runs function on target with the archive that writer holds (HPX, paper 004). The caller does not
 * copy the chunks of a writer that shares: the archive goes with the call, the target gets each
 * chunk straight into memory that its function may keep, and the function runs when all chunks have
 * arrived.
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
 * The target gets a chunk in a segment or in registered memory by its global pointer. A target of
 * the same node reads a chunk in private memory straight from there, if the system allows it;
 * otherwise the caller first copies the chunk to its segment (counter bytes_staged). Counter
 * bytes_got counts what targets get.
 *
 * When this returns the program may reset or close the writer and drop the buffers in it. It must
 * leave other memory of chunks unchanged until the synchronizer reusable is lowered. An archive
 * that is too large for a ring is copied and goes as a chunk itself. A target holds chunks of at
 * most TERN_OVERFLOW_MEMORY bytes, or those of one call, in its segment, or in heap memory when the
 * segment is full.
 *
 * If the target cannot get a chunk the function does not run. The target logs and counts that, and
 * the caller logs it. Both synchronizers are lowered all the same.
 *
 * Returns the writer's status if the writer has failed. TERN_ERR_AGAIN, depending on options->full:
 * the ring is full, or TERN_CALL_REQUESTS calls with chunks or with results are under way. In a
 * handler it never waits. TERN_ERR_RANGE: a chunk is larger than TERN_CHUNK_MAX, or there are more
 * than TERN_CALL_CHUNKS_MAX. TERN_ERR_MEMORY: no memory to copy a chunk to. Other statuses are
 * those of tern_call_with. */
TERN_NODISCARD TERN_API tern_status tern_call_archive(tern_worker *worker, tern_worker_id target,
                                                      const tern_function *function,
                                                      const tern_writer *writer,
                                                      const tern_archive_options *options);

/* Makes a call as tern_call_archive does, of a function with a result. The program waits for it by
 * request (tern/request.h). The program must leave chunks that are not buffers unchanged until the
 * request is complete. A call with chunks takes two of TERN_CALL_REQUESTS. If the target cannot get
 * a chunk, that error is the outcome of the request. Waits for room in a full ring, or for earlier
 * calls whose chunks are under way; in a handler returns TERN_ERR_AGAIN instead. The rest is as in
 * tern_call_archive and tern_call_start. */
TERN_NODISCARD TERN_API tern_status tern_call_archive_start(tern_worker *worker,
                                                            tern_worker_id target,
                                                            const tern_function *function,
                                                            const tern_writer *writer, void *result,
                                                            size_t capacity, tern_request *request);

/* Begins to read the arguments of a call and its chunks, in the handler. [out] reader: valid until
 * the handler returns; buffers and vectors read from it stay valid longer. Returns the same errors
 * as tern_reader_open. */
TERN_NODISCARD TERN_API tern_status tern_call_reader(const tern_call_info *call,
                                                     const void *arguments, size_t bytes,
                                                     tern_reader *reader);

#ifdef __cplusplus
}
#endif

#include "tern/detail/item_type.h"

/* The item type of what pointer points to; an enum has the type in which it is stored. */
#define TERN_ITEM_TYPE(pointer) TERN_INTERNAL_ITEM_TYPE(pointer)

/* The item type of a named type. The address is never dereferenced. */
#define TERN_ITEM_TYPE_OF(type) TERN_ITEM_TYPE((type *)(uintptr_t)8)

/* TERN_WRITE writes count elements of the type that items points to; TERN_READ reads exactly count
 * elements of that type; TERN_READ_ARRAY hands out any number of them without a copy. count is 1
 * for a single value. */
#define TERN_WRITE(writer, items, count)                                                           \
    tern_write_items(writer, TERN_ITEM_TYPE(items), sizeof *(items), items, count)
#define TERN_READ(reader, items, count)                                                            \
    tern_read_items(reader, TERN_ITEM_TYPE(items), sizeof *(items), items, count)
#define TERN_READ_ARRAY(reader, items, count)                                                      \
    tern_read_array(reader, TERN_ITEM_TYPE((__typeof__(*(items)))0),                               \
                    sizeof(*(__typeof__(*(items)))0), items, count)

#endif
