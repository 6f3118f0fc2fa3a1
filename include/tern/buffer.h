#ifndef TERN_BUFFER_H
#define TERN_BUFFER_H

/*
 * Buffers: memory with a count of references (HPX, paper 004, 3.2 and 3.4). An archive that shares
 * holds a reference until it has been sent, so the program that wrote it may drop its own at once.
 * A received buffer can be passed on without a copy. When the last reference is dropped the memory
 * goes back to where it came from: heap memory, a segment, or a function of the application.
 *
 * Threads: each reference is one thread's, and may be passed to another; keep and drop on the same
 * buffer may run in any threads at the same time. All references share the memory: write to it only
 * while there is one reference, or as the application arranges. What a thread does to the memory
 * before it drops its reference happens before the release, and before tern_buffer_alone returns
 * true in another thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "tern/archive.h"
#include "tern/ptr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tern_worker;

/* A buffer, counted by references. Its members are tern's own. */
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

/* Return the address of the buffer's first byte, and the number of its bytes. */
TERN_API void *tern_buffer_data(const tern_buffer *buffer);
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

#ifdef __cplusplus
}
#endif

#endif
