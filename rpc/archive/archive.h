#ifndef TERN_RPC_ARCHIVE_ARCHIVE_H
#define TERN_RPC_ARCHIVE_ARCHIVE_H

/* What the files of this folder share: the words of an archive's items, and a writer's list of
 * chunks. The word of an item holds its type (4 bits), place (4 bits), element size (16 bits) and
 * count (40 bits), from the lowest bit on. */

#include "base/error.h"
#include "tern/archive.h"

#define TERN_ARCHIVE_HEADER 8u
/* The items that begin and end a group. Only the functions for groups, such as tern_write_begin,
 * write and read them, so each begin has its end. */
#define TERN_ITEM_BEGIN ((tern_item_type)(TERN_ITEM_STRING + 1))
#define TERN_ITEM_END ((tern_item_type)(TERN_ITEM_STRING + 2))
/* This bit is set in the word of an item whose content lies in a chunk. */
#define TERN_ITEM_IN_CHUNK ((uint64_t)1 << 4)

extern const unsigned char tern_archive_header[TERN_ARCHIVE_HEADER];

static inline uint64_t tern_item_type_of_word(uint64_t word) { return word & 15; }
static inline uint64_t tern_item_place(uint64_t word) { return word >> 4 & 15; }
static inline uint64_t tern_item_element(uint64_t word) { return word >> 8 & 0xffff; }
static inline uint64_t tern_item_count(uint64_t word) { return word >> 24; }

static inline uint64_t tern_item_word(tern_item_type type, size_t element, uint64_t count) {
    return count << 24 | (uint64_t)element << 8 | (uint64_t)type;
}

static inline size_t tern_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

/* Returns how many bytes of the archive the item with this word takes, the word included: at most
 * 2^56 + 8. */
static inline size_t tern_item_size(uint64_t word) {
    if (tern_item_place(word) != 0 || tern_item_type_of_word(word) == TERN_ITEM_END)
        return 8;
    if (tern_item_type_of_word(word) == TERN_ITEM_BEGIN)
        return 16 + tern_padded(tern_item_element(word));
    return 8 + tern_padded(tern_item_element(word) * tern_item_count(word));
}

static inline uint64_t tern_load_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The chunks of a writer after tern_writer_share. */
typedef struct tern_chunks {
    struct tern_worker *worker; /* finds the global addresses of chunks; NULL: only a chunk's buffer
                                   can know its own */
    tern_chunk *list;
    size_t count, room;
} tern_chunks;

/* Appends the word of an item, and adds the item's content, which the caller has checked, to the
 * chunks. If buffer is not NULL, the writer holds a reference to it until it drops its chunks. */
tern_status tern_chunk_write(tern_writer *writer, uint64_t word, const void *items, size_t bytes,
                             struct tern_buffer *buffer);
/* Drops all chunks. */
void tern_chunks_clear(tern_chunks *chunks);
void tern_chunks_free(tern_chunks *chunks);

/* Returns the global address of [memory, memory + bytes), or TERN_NULL if other ranks cannot reach
 * this memory. */
tern_ptr tern_gaddr_of(const struct tern_worker *worker, const void *memory, size_t bytes);
/* Returns the worker's TERN_ZERO_COPY_MIN. */
size_t tern_zero_copy_min(const struct tern_worker *worker);

/* Makes room for size more bytes of the archive, or makes the writer fail. */
tern_status tern_writer_reserve(tern_writer *writer, size_t size);

/* Does the same as tern_internal_reader_next. [out] chunk: the chunk in which the content lies, or
 * NULL if it lies in the archive. */
const void *tern_reader_take(tern_reader *reader, tern_item_type type, size_t element,
                             uint64_t wanted, size_t *count, const tern_chunk **chunk);

#endif
