#ifndef TERN_VECTOR_H
#define TERN_VECTOR_H

/*
 * Vectors: growable arrays in a buffer, in a rank's segment or in heap memory (HPX's rma_vector
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
 * with the rules of buffers (tern/buffer.h). The worker only names the segment, so any thread may
 * pass it. All functions are local and never block.
 */

#include "tern/buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A vector. Its members are tern's own. */
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

#ifdef __cplusplus
}
#endif

#endif
