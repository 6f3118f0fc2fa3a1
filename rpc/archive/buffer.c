#include "rpc/archive/buffer.h"

#include <stdlib.h>

#include "rpc/archive/archive.h"

enum { ALIGNMENT = 64 };

tern_status tern_buffer_wrap(void *data, size_t bytes, tern_buffer_release release, void *user,
                             tern_buffer **buffer) {
    if (buffer == NULL || (data == NULL && bytes > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_buffer_wrap: buffer is NULL, or data is NULL and bytes is %zu",
                         bytes);
    tern_buffer *made = malloc(sizeof *made);
    if (made == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a buffer");
    *made = (tern_buffer){
        .references = 1, .data = data, .bytes = bytes, .release = release, .user = user};
    *buffer = made;
    return TERN_OK;
}

static void release_heap(void *data, size_t bytes, void *user) {
    (void)bytes;
    (void)user;
    free(data);
}

tern_status tern_buffer_create(struct tern_worker *worker, size_t bytes, tern_buffer **buffer) {
    if (buffer == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_buffer_create: buffer is NULL");
    if (worker != NULL)
        return tern_buffer_create_in_segment(worker, bytes, buffer);
    void *data = NULL;
    if (bytes <= PTRDIFF_MAX - ALIGNMENT)
        data = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1));
    if (data == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a buffer of %zu bytes", bytes);
    tern_status status = tern_buffer_wrap(data, bytes, release_heap, NULL, buffer);
    if (status != TERN_OK)
        free(data);
    return status;
}

bool tern_buffer_alone(const tern_buffer *buffer) {
    return buffer != NULL && tern_buffer_is_mine(buffer);
}

tern_buffer *tern_buffer_keep(tern_buffer *buffer) {
    if (buffer != NULL)
        /* R4 */
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void tern_buffer_drop(tern_buffer *buffer) {
    /* R8: tern_buffer_drop, tern_buffer_is_mine; the last user frees after all others */
    if (buffer == NULL ||
        (!tern_buffer_is_mine(buffer) &&
         atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) > 1))
        return;
    if (buffer->release != NULL)
        buffer->release(buffer->data, buffer->bytes, buffer->user);
    free(buffer);
}

void *tern_buffer_data(const tern_buffer *buffer) { return buffer != NULL ? buffer->data : NULL; }
size_t tern_buffer_bytes(const tern_buffer *buffer) { return buffer != NULL ? buffer->bytes : 0; }

tern_ptr tern_buffer_place(const tern_buffer *buffer) {
    return buffer != NULL ? buffer->gaddr : TERN_NULL;
}

tern_status tern_buffer_write(tern_writer *writer, tern_item_type type, size_t element,
                              size_t count, tern_buffer *buffer) {
    const void *data = tern_buffer_data(buffer);
    size_t bytes = element * count; /* at most the size of the buffer */
    if (writer->status != TERN_OK || bytes < writer->share_min || bytes == 0 ||
        element > TERN_ITEM_ELEMENT_MAX || count > TERN_ITEM_COUNT_MAX)
        return tern_write_items(writer, type, element, data, count);
    return tern_chunk_write(writer, tern_item_word(type, element, count), data, bytes, buffer);
}

tern_status tern_buffer_read(tern_reader *reader, struct tern_worker *worker, tern_item_type type,
                             size_t element, tern_buffer **buffer, size_t *count) {
    const tern_chunk *chunk = NULL;
    size_t there = 0;
    const void *content =
        tern_reader_take(reader, type, element, TERN_ITEM_COUNT_MAX, &there, &chunk);
    if (content == NULL)
        return reader->status;
    tern_buffer *made = NULL;
    if (chunk != NULL && chunk->buffer != NULL && chunk->buffer->data == content) {
        made = tern_buffer_keep(chunk->buffer);
    } else {
        tern_status status = tern_buffer_create(worker, there * element, &made);
        if (status == TERN_ERR_MEMORY && worker != NULL) /* the segment is full */
            status = tern_buffer_create(NULL, there * element, &made);
        if (status != TERN_OK)
            return tern_reader_fail(reader, status);
        memcpy(made->data, content, there * element);
    }
    *buffer = made;
    *count = there;
    return TERN_OK;
}

tern_status tern_write_buffer(tern_writer *writer, tern_buffer *buffer) {
    if (buffer == NULL)
        return tern_writer_fail(writer,
                                tern_fail(TERN_ERR_ARGUMENT, "tern_write_buffer: buffer is NULL"));
    return tern_buffer_write(writer, TERN_ITEM_BYTES, 1, buffer->bytes, buffer);
}

tern_status tern_read_buffer(tern_reader *reader, struct tern_worker *worker,
                             tern_buffer **buffer) {
    size_t count = 0;
    return tern_buffer_read(reader, worker, TERN_ITEM_BYTES, 1, buffer, &count);
}
