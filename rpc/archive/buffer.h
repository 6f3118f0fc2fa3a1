#ifndef TERN_RPC_ARCHIVE_BUFFER_H
#define TERN_RPC_ARCHIVE_BUFFER_H

/* The structure of a buffer, and how buffers of typed elements go into archives. */

#include <stdatomic.h>
#include <stdbool.h>

#include "tern/archive.h"

/* The count of references is the only word for which threads race. Keeping is relaxed: the thread
 * that keeps has a reference already, so the buffer cannot be freed meanwhile. Dropping is a
 * release, and the last drop, like tern_buffer_alone, is an acquire: it sees what every other
 * thread did to the memory before its own drop. A thread with the last reference races with no
 * other, and drops it without an atomic operation, since that would wait until earlier stores to
 * memory of other ranks are done. */
struct tern_buffer {
    _Atomic size_t references;
    void *data;
    size_t bytes;
    tern_ptr gaddr;
    tern_buffer_release release;
    void *user;
};

/* Returns whether the caller's reference is the only one. */
static inline bool tern_buffer_is_mine(const tern_buffer *buffer) {
    /* R8: tern_buffer_drop */
    return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}

/* Creates a buffer of so many bytes in the segment of the worker's rank. */
tern_status tern_buffer_create_in_segment(struct tern_worker *worker, size_t bytes,
                                          tern_buffer **buffer);

/* Writes the content of a buffer as an item of count elements. The writer holds a reference to the
 * buffer, or copies content that is shorter than its share_min. */
tern_status tern_buffer_write(tern_writer *writer, tern_item_type type, size_t element,
                              size_t count, tern_buffer *buffer);
/* Reads the next item into a buffer: the one of the item's chunk, or a new one. [out] buffer,
 * count. */
tern_status tern_buffer_read(tern_reader *reader, struct tern_worker *worker, tern_item_type type,
                             size_t element, tern_buffer **buffer, size_t *count);

#endif
