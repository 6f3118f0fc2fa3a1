#ifndef TERN_BUFFER_H
#define TERN_BUFFER_H

/*
 * Buffers: memory with a count of those who use it (HPX, paper 004, 3.2 and 3.4). An archive that
 * shares keeps one until it has been sent, so that its writer may drop it at once; what is received
 * in one is handed on without a copy. The last one to drop it gives the memory back to where it
 * came from: heap memory, a segment, or a function of the application's.
 *
 * Threads: each reference is one thread's, and may be passed to another; keep and drop on the same
 * buffer may run in any threads at the same time. The memory is shared by all of them: it is
 * written to while there is one reference, or as the application arranges. What a thread has done
 * to it before it drops happens before the release, and before tern_buffer_alone gives true to
 * another.
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

/* Gives memory back; runs in the thread of the last drop, and must not wait. */
typedef void (*tern_buffer_release)(void *data, size_t bytes, void *user);

/* A buffer with memory of its own, 64-byte aligned, its content undefined: in the segment of the
 * worker's rank, so that other ranks can get from it, or, if worker is NULL, in heap memory. [out]
 * buffer, with one reference. Those in a segment are dropped before the context is destroyed.
 * TERN_ERR_ARGUMENT: buffer is NULL; TERN_ERR_MEMORY. Local, never blocks, any thread. */
TERN_NODISCARD TERN_API tern_status tern_buffer_create(struct tern_worker *worker, size_t bytes,
                                                       tern_buffer **buffer);

/* A buffer around memory of the caller's. release (NULL: none is needed) is called with data, bytes
 * and user after the last drop. TERN_ERR_ARGUMENT: NULL; TERN_ERR_MEMORY: release is not called.
 * Local, never blocks, any thread. */
TERN_NODISCARD TERN_API tern_status tern_buffer_wrap(void *data, size_t bytes,
                                                     tern_buffer_release release, void *user,
                                                     tern_buffer **buffer);

/* One reference more; returns buffer. NULL is fine, here and below. */
TERN_API tern_buffer *tern_buffer_keep(tern_buffer *buffer);
/* One less; the last one gives the memory back. */
TERN_API void tern_buffer_drop(tern_buffer *buffer);
/* Whether there is one reference only, the caller's. */
TERN_API bool tern_buffer_alone(const tern_buffer *buffer);

/* The first of its bytes, and how many there are. */
TERN_API void *tern_buffer_data(const tern_buffer *buffer);
TERN_API size_t tern_buffer_bytes(const tern_buffer *buffer);
/* Where other ranks find it, if it was created in a segment; else TERN_NULL. */
TERN_API tern_ptr tern_buffer_place(const tern_buffer *buffer);

/* Writes the buffer as an item of bytes. A writer that shares keeps the buffer, if it is as large
 * as its threshold, until it is reset or closed; else its content is copied. Errors as
 * tern_write_items; TERN_ERR_ARGUMENT: NULL. */
TERN_API tern_status tern_write_buffer(tern_writer *writer, tern_buffer *buffer);

/* Reads an item of bytes. [out] buffer: the one that the item's chunk is, kept once more, without a
 * copy; or a new one, as tern_buffer_create makes it, with a copy, which lies in heap memory where
 * the segment is full. Errors as tern_read_array and tern_buffer_create. */
TERN_API tern_status tern_read_buffer(tern_reader *reader, struct tern_worker *worker,
                                      tern_buffer **buffer);

#ifdef __cplusplus
}
#endif

#endif
