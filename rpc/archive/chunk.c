#include "tern/archive.h"

#include <stdlib.h>

#include "rpc/archive/archive.h"

/* Chunks are content that a writer does not copy. This file collects them, and copies an archive
 * and its chunks into one archive. */

tern_status tern_writer_share(tern_writer *writer, struct tern_worker *worker, size_t min) {
    if (writer->status != TERN_OK)
        return writer->status;
    if (min == 0 && worker == NULL)
        return tern_writer_fail(
            writer, tern_fail(TERN_ERR_ARGUMENT,
                              "tern_writer_share: without a worker there is no TERN_ZERO_COPY_MIN; "
                              "give 1 byte or more"));
    if (writer->chunks == NULL)
        writer->chunks = calloc(1, sizeof *writer->chunks);
    if (writer->chunks == NULL)
        return tern_writer_fail(writer, tern_fail(TERN_ERR_MEMORY, "no memory for chunks"));
    writer->chunks->worker = worker;
    writer->share_min = min > 0 ? min : tern_zero_copy_min(worker);
    return TERN_OK;
}

static tern_status chunk_make_room(tern_chunks *chunks) {
    if (chunks->count < chunks->room)
        return TERN_OK;
    size_t room = chunks->room > 0 ? 2 * chunks->room : 4;
    tern_chunk *larger = realloc(chunks->list, room * sizeof *larger);
    if (larger == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %zu chunks", room);
    chunks->list = larger;
    chunks->room = room;
    return TERN_OK;
}

tern_status tern_chunk_write(tern_writer *writer, uint64_t word, const void *items, size_t bytes,
                             tern_buffer *buffer) {
    tern_chunks *chunks = writer->chunks;
    if (tern_writer_reserve(writer, 8) != TERN_OK)
        return writer->status;
    tern_status status = chunk_make_room(chunks);
    if (status != TERN_OK)
        return tern_writer_fail(writer, status);
    /* With a worker, look the memory up: the buffer's own pointer may name another context's
     * segment. */
    tern_ptr gaddr = chunks->worker != NULL ? tern_gaddr_of(chunks->worker, items, bytes)
                                            : tern_buffer_place(buffer);
    chunks->list[chunks->count++] = (tern_chunk){items, bytes, gaddr, tern_buffer_keep(buffer)};
    word |= TERN_ITEM_IN_CHUNK;
    memcpy(writer->data + writer->bytes, &word, sizeof word);
    writer->bytes += 8;
    return TERN_OK;
}

void tern_chunks_clear(tern_chunks *chunks) {
    for (size_t i = 0; i < chunks->count; i++)
        tern_buffer_drop(chunks->list[i].buffer);
    chunks->count = 0;
}

void tern_chunks_free(tern_chunks *chunks) {
    tern_chunks_clear(chunks);
    free(chunks->list);
    free(chunks);
}

const tern_chunk *tern_writer_chunks(const tern_writer *writer, size_t *count) {
    *count = writer->chunks != NULL ? writer->chunks->count : 0;
    return *count > 0 ? writer->chunks->list : NULL;
}

/* The state of tern_writer_gather, which copies an archive and puts the content of each chunk
 * behind its word. */
typedef struct gathering {
    const char *from;
    size_t copied; /* bytes of from that have been copied */
    char *to;
    size_t written;
    size_t groups;
    size_t group[TERN_GROUPS_MAX]; /* offsets in `to` of the lengths of the open groups */
} gathering;

static void copy_up_to(gathering *g, size_t end) {
    memcpy(g->to + g->written, g->from + g->copied, end - g->copied);
    g->written += end - g->copied;
    g->copied = end;
}

static void put_chunk(gathering *g, size_t at, uint64_t word, const tern_chunk *chunk) {
    size_t padded = tern_padded(chunk->bytes);
    char *to = g->to + g->written + at - g->copied;
    copy_up_to(g, at + 8);
    word &= ~TERN_ITEM_IN_CHUNK;
    memset(to + padded, 0, 8); /* the padding; the content overwrites the rest */
    memcpy(to, &word, sizeof word);
    memcpy(to + 8, chunk->memory, chunk->bytes);
    g->written += padded;
}

/* Ends a group: writes its length in the copy, which the chunks inside have made longer. */
static void end_group(gathering *g, size_t at) {
    copy_up_to(g, at + 8);
    size_t length = g->group[--g->groups];
    uint64_t begin = tern_load_word(g->to + length - 8);
    uint64_t enclosed = g->written - (length - 8) - tern_item_size(begin);
    memcpy(g->to + length, &enclosed, sizeof enclosed);
}

static void chunk_gather(gathering *g, size_t bytes, const tern_chunk *chunk) {
    for (size_t at = TERN_ARCHIVE_HEADER; at < bytes;) {
        uint64_t word = tern_load_word(g->from + at);
        if (tern_item_place(word) != 0)
            put_chunk(g, at, word, chunk++);
        else if (tern_item_type_of_word(word) == TERN_ITEM_BEGIN)
            g->group[g->groups++] = g->written + at - g->copied + 8;
        else if (tern_item_type_of_word(word) == TERN_ITEM_END)
            end_group(g, at);
        at += tern_item_size(word);
    }
    copy_up_to(g, bytes);
}

tern_status tern_writer_gather(const tern_writer *writer, void *memory, size_t room,
                               size_t *bytes) {
    const void *index = NULL;
    size_t count = 0, index_bytes = 0;
    const tern_chunk *chunks = tern_writer_chunks(writer, &count);
    tern_status status = tern_writer_finish(writer, &index, &index_bytes);
    if (status != TERN_OK)
        return status;
    size_t all = index_bytes;
    for (size_t i = 0; i < count; i++)
        all += tern_padded(chunks[i].bytes);
    *bytes = all;
    if (memory == NULL)
        return TERN_OK;
    if (room < all)
        return tern_fail(TERN_ERR_RANGE,
                         "the archive has %zu bytes with its chunks; there is room for %zu", all,
                         room);
    gathering g;
    g = (gathering){.from = index, .to = memory};
    chunk_gather(&g, index_bytes, chunks);
    return TERN_OK;
}
