#ifndef TERN_RPC_ARCHIVE_ARCHIVE_H
#define TERN_RPC_ARCHIVE_ARCHIVE_H

/* What the parts of the archive share: its words, and the list of chunks. */

#include "base/error.h"
#include "tern/archive.h"

#define TERN_ARCHIVE_HEADER 8u
/* Of groups: written and read by functions of their own only, so that each begin has its end. */
#define TERN_ITEM_BEGIN ((tern_item_type)(TERN_ITEM_STRING + 1))
#define TERN_ITEM_END ((tern_item_type)(TERN_ITEM_STRING + 2))
/* The word of an item whose content lies in a chunk. */
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

/* Bytes of the index that an item takes, its word included; no more than 2^56 + 8. */
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

/* What a writer shares. */
typedef struct tern_chunks {
    struct tern_worker *worker; /* NULL: pointer chunks only */
    tern_chunk *list;
    size_t count, room;
} tern_chunks;

/* Appends the word of an item whose content, valid and long enough, becomes a chunk. buffer, or
 * NULL, is kept until the writer lets go. */
tern_status tern_chunk_write(tern_writer *writer, uint64_t word, const void *items, size_t bytes,
                             struct tern_buffer *buffer);
/* Lets go of all chunks. */
void tern_chunks_clear(tern_chunks *chunks);
void tern_chunks_free(tern_chunks *chunks);

/* Where other ranks find [memory, memory + bytes); TERN_NULL: nowhere. */
tern_ptr tern_place_of(const struct tern_worker *worker, const void *memory, size_t bytes);
/* The worker's TERN_ZERO_COPY_MIN. */
size_t tern_place_threshold(const struct tern_worker *worker);

/* Room for size more bytes of the index, or the writer has failed. */
tern_status tern_writer_reserve(tern_writer *writer, size_t size);

/* As tern_internal_reader_next; [out] chunk: where the content lies, or NULL: in the archive. */
const void *tern_reader_take(tern_reader *reader, tern_item_type type, size_t element,
                             uint64_t wanted, size_t *count, const tern_chunk **chunk);

#endif
