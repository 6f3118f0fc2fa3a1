#include "tern/archive.h"

#include <inttypes.h>

#include "rpc/archive/archive.h"
#include "rpc/archive/buffer.h"

/* Vectors. The size of a vector's buffer is its capacity. */

static tern_status vector_check(size_t element, size_t count) {
    if (element > TERN_ITEM_ELEMENT_MAX || count > TERN_ITEM_COUNT_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "a vector of %zu elements of %zu bytes; at most %" PRIu64
                         " of at most %u are allowed",
                         count, element, TERN_ITEM_COUNT_MAX, TERN_ITEM_ELEMENT_MAX);
    return TERN_OK;
}

tern_status tern_vector_create(struct tern_worker *worker, tern_item_type type, size_t element,
                               size_t count, tern_vector *vector) {
    if (vector == NULL || element == 0)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_vector_create: %s",
                         vector == NULL ? "vector is NULL"
                                        : "element is 0; pass its bytes, 1 or more");
    tern_vector made = {.worker = worker, .element = element, .count = count, .type = type};
    tern_status status = vector_check(element, count);
    if (status == TERN_OK && count > 0)
        status = tern_buffer_create(worker, element * count, &made.buffer);
    if (status == TERN_OK)
        *vector = made;
    return status;
}

void tern_vector_destroy(tern_vector *vector) {
    tern_buffer_drop(vector->buffer);
    vector->buffer = NULL;
    vector->count = 0;
}

/* Replaces the memory by new memory with room for so many elements, and copies the elements. */
static tern_status vector_replace(tern_vector *vector, size_t room) {
    tern_buffer *other = NULL;
    tern_status status = tern_buffer_create(vector->worker, vector->element * room, &other);
    if (status != TERN_OK)
        return status;
    if (vector->count > 0)
        memcpy(other->data, vector->buffer->data, vector->element * vector->count);
    tern_buffer_drop(vector->buffer);
    vector->buffer = other;
    return TERN_OK;
}

/* Gives the vector memory of its own with room for count elements, at least as many as it has. */
static tern_status vector_reserve(tern_vector *vector, size_t count) {
    size_t room = tern_buffer_bytes(vector->buffer) / vector->element;
    tern_status status = vector_check(vector->element, count);
    if (status != TERN_OK || (count <= room && tern_buffer_alone(vector->buffer)))
        return status;
    if (count > room && count < 2 * room && 2 * room <= TERN_ITEM_COUNT_MAX)
        count = 2 * room;
    return vector_replace(vector, count);
}

tern_status tern_vector_resize(tern_vector *vector, size_t count) {
    if (count > vector->count) {
        tern_status status = vector_reserve(vector, count);
        if (status != TERN_OK)
            return status;
    }
    vector->count = count;
    return TERN_OK;
}

tern_status tern_vector_append(tern_vector *vector, const void *elements, size_t count) {
    if (elements == NULL && count > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_vector_append: elements is NULL");
    if (count == 0)
        return TERN_OK;
    if (count > TERN_ITEM_COUNT_MAX - vector->count)
        return vector_check(vector->element, SIZE_MAX);
    /* elements may lie in the vector itself. So a second reference keeps its old memory until they
     * are copied. */
    tern_buffer *before = tern_buffer_keep(vector->buffer);
    /* R8: tern_buffer_drop */
    bool alone = vector->buffer != NULL &&
                 atomic_load_explicit(&vector->buffer->references, memory_order_acquire) == 2;
    size_t wanted = vector->count + count;
    tern_status status = TERN_OK;
    if (!alone || wanted > tern_buffer_bytes(before) / vector->element)
        status = vector_reserve(vector, wanted);
    if (status == TERN_OK) {
        char *to = vector->buffer->data;
        memcpy(to + vector->count * vector->element, elements, count * vector->element);
        vector->count = wanted;
    }
    tern_buffer_drop(before);
    return status;
}

tern_status tern_vector_own(tern_vector *vector) {
    return vector->buffer == NULL ? TERN_OK : vector_reserve(vector, vector->count);
}

void tern_vector_share(const tern_vector *from, tern_vector *to) {
    *to = *from;
    (void)tern_buffer_keep(to->buffer);
}

void tern_vector_move(tern_vector *from, tern_vector *to) {
    tern_vector all = *from;
    from->buffer = NULL;
    from->count = 0;
    *to = all;
}

tern_status tern_write_vector(tern_writer *writer, const tern_vector *vector) {
    return tern_buffer_write(writer, vector->type, vector->element, vector->count, vector->buffer);
}

tern_status tern_read_vector(tern_reader *reader, struct tern_worker *worker, tern_item_type type,
                             size_t element, tern_vector *vector) {
    if (vector == NULL || element == 0)
        return tern_reader_fail(reader, tern_fail(TERN_ERR_ARGUMENT, "tern_read_vector: %s",
                                                  vector == NULL
                                                      ? "vector is NULL"
                                                      : "element is 0; pass its bytes, 1 or more"));
    tern_vector made = {.worker = worker, .element = element, .type = type};
    tern_status status = tern_buffer_read(reader, worker, type, element, &made.buffer, &made.count);
    if (status == TERN_OK)
        *vector = made;
    return status;
}
