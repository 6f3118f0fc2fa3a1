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
 * A shared vector has the same memory as the one it was shared with until one of them grows or
 * takes its memory for itself (tern_vector_own), which copies it. Writing to elements copies
 * nothing: all that share see it.
 *
 * Threads: a vector is used by one thread at a time, and vectors that share memory by one each, as
 * with buffers (tern/buffer.h). The worker only says whose segment: its own thread need not be the
 * one. All are local and never block.
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

/* A vector of count elements, their content undefined, in the segment of the worker's rank; NULL:
 * in heap memory. [out] vector. TERN_ERR_ARGUMENT: NULL, or an element of 0 bytes; TERN_ERR_RANGE:
 * an element or a count over the limits of an archive's item; TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_vector_create(struct tern_worker *worker,
                                                       tern_item_type type, size_t element,
                                                       size_t count, tern_vector *vector);
#define TERN_VECTOR_CREATE(worker, ctype, count, vector)                                           \
    tern_vector_create(worker, TERN_ITEM_TYPE_OF(ctype), sizeof(ctype), count, vector)

/* Lets go of the memory. The vector is empty then and can still be used, or forgotten. */
TERN_API void tern_vector_destroy(tern_vector *vector);

/* The first element, or NULL while there never was one; valid until the vector grows. */
TERN_INLINE void *tern_vector_data(const tern_vector *vector) {
    return tern_buffer_data(vector->buffer);
}
/* The number of its elements. */
TERN_INLINE size_t tern_vector_count(const tern_vector *vector) { return vector->count; }
/* Where other ranks find the first element; TERN_NULL: heap memory. */
TERN_INLINE tern_ptr tern_vector_place(const tern_vector *vector) {
    return tern_buffer_place(vector->buffer);
}

/* Makes it count elements. New ones have undefined content. Memory is taken by doubling and never
 * given back before the vector is destroyed; it is copied if it is shared or too small.
 * TERN_ERR_RANGE; TERN_ERR_MEMORY; the vector is as it was then. */
TERN_NODISCARD TERN_API tern_status tern_vector_resize(tern_vector *vector, size_t count);

/* Appends count elements, which may lie in the vector. Errors as tern_vector_resize;
 * TERN_ERR_ARGUMENT: NULL. */
TERN_NODISCARD TERN_API tern_status tern_vector_append(tern_vector *vector, const void *elements,
                                                       size_t count);

/* Takes memory that nobody else uses, by a copy if it is shared. TERN_ERR_MEMORY. */
TERN_NODISCARD TERN_API tern_status tern_vector_own(tern_vector *vector);

/* [out] to: a vector with the same memory. What to had is not let go of. */
TERN_API void tern_vector_share(const tern_vector *from, tern_vector *to);

/* [out] to: all that from has, which is empty then. What to had is not let go of. */
TERN_API void tern_vector_move(tern_vector *from, tern_vector *to);

/* Writes the elements as one item. A writer that shares keeps their memory, if they are as large as
 * its threshold. Errors as tern_write_items. */
TERN_API tern_status tern_write_vector(tern_writer *writer, const tern_vector *vector);

/* Reads an item of such elements. [out] vector: with the memory of the item's chunk, if that is a
 * buffer; else with a copy, in the worker's segment or heap memory. The worker is where it will
 * grow, too. What vector had is not let go of. Errors as tern_read_array and tern_vector_create. */
TERN_API tern_status tern_read_vector(tern_reader *reader, struct tern_worker *worker,
                                      tern_item_type type, size_t element, tern_vector *vector);
#define TERN_READ_VECTOR(reader, worker, ctype, vector)                                            \
    tern_read_vector(reader, worker, TERN_ITEM_TYPE_OF(ctype), sizeof(ctype), vector)

#ifdef __cplusplus
}
#endif

#endif
