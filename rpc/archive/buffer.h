#ifndef TERN_RPC_ARCHIVE_BUFFER_H
#define TERN_RPC_ARCHIVE_BUFFER_H

/* What a buffer is, and archives of typed ones. */

#include <stdatomic.h>
#include <stdbool.h>

#include "tern/buffer.h"

/* The count is the only word that threads race for. Keeping is relaxed: who keeps has a reference,
 * so nothing is freed. Dropping is a release, and the last drop, like tern_buffer_alone, an
 * acquire: it sees what every other thread did to the memory before its own drop. The last user has
 * nobody to race with, and drops without an atomic operation, which would wait until earlier stores
 * to memory of other ranks are done. */
struct tern_buffer {
    _Atomic size_t references;
    void *data;
    size_t bytes;
    tern_ptr place;
    tern_buffer_release release;
    void *user;
};

/* Whether nobody else has a reference. */
static inline bool tern_buffer_is_mine(const tern_buffer *buffer) {
    /* R8: tern_buffer_drop */
    return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}

/* A buffer of bytes in the segment of the worker's rank. */
tern_status tern_buffer_create_placed(struct tern_worker *worker, size_t bytes,
                                      tern_buffer **buffer);

/* Content of a buffer as an item of count elements; keeps the buffer or copies. */
tern_status tern_buffer_write(tern_writer *writer, tern_item_type type, size_t element,
                              size_t count, tern_buffer *buffer);
/* The next item as a buffer, the chunk's or a new one. [out] buffer, count. */
tern_status tern_buffer_read(tern_reader *reader, struct tern_worker *worker, tern_item_type type,
                             size_t element, tern_buffer **buffer, size_t *count);

#endif
