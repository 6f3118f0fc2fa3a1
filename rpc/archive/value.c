#include "tern/archive.h"

#include <inttypes.h>
#include <stdbool.h>

#include "rpc/archive/archive.h"

/* Values of the application's types. A group with the type's name holds what the type's functions
 * write. */

static tern_status value_check(const tern_type *type, const void *other) {
    if (type == NULL || type->name == NULL || other == NULL)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "values to be archived: the type, its name or the memory of the values is NULL");
    if (type->bytes == 0 || (type->write == NULL) != (type->read == NULL))
        return tern_fail(TERN_ERR_ARGUMENT, "type %s has %s", type->name,
                         type->bytes == 0 ? "0 bytes; 1 or more are allowed"
                                          : "only one of its two functions; give both or none");
    return TERN_OK;
}

/* The element size of the items of a type without functions. Large values are written as single
 * bytes. */
static size_t element_of(const tern_type *type) {
    return type->bytes <= TERN_ITEM_ELEMENT_MAX ? type->bytes : 1;
}

static tern_status write_plain(tern_writer *writer, const tern_type *type, const void *values,
                               size_t count) {
    size_t element = element_of(type);
    if (count > TERN_ITEM_COUNT_MAX / (type->bytes / element))
        return tern_writer_fail(
            writer,
            tern_fail(TERN_ERR_RANGE, "%zu values of type %s; at most %zu are allowed", count,
                      type->name, (size_t)(TERN_ITEM_COUNT_MAX / (type->bytes / element))));
    return tern_write_items(writer, TERN_ITEM_BYTES, element, values,
                            count * (type->bytes / element));
}

static tern_status write_one(tern_writer *writer, const tern_type *type, const void *value) {
    return type->write == NULL ? write_plain(writer, type, value, 1)
                               : tern_writer_fail(writer, type->write(writer, value));
}

tern_status tern_write_values(tern_writer *writer, const tern_type *type, const void *values,
                              size_t count) {
    tern_status status = value_check(type, count > 0 ? values : writer);
    if (status != TERN_OK)
        return tern_writer_fail(writer, status);
    bool plain = type->write == NULL;
    status = tern_write_begin(writer, type->name, plain ? 1 : count);
    if (plain)
        status = write_plain(writer, type, values, count);
    for (size_t i = 0; !plain && i < count && status == TERN_OK; i++)
        status = write_one(writer, type, (const char *)values + i * type->bytes);
    return status == TERN_OK ? tern_write_end(writer) : status;
}

tern_status tern_write_list(tern_writer *writer, const tern_type *type, const void *first,
                            const void *(*next)(const void *value, void *user), void *user) {
    uint64_t count = 0;
    tern_status status = next != NULL
                             ? value_check(type, writer)
                             : tern_fail(TERN_ERR_ARGUMENT, "tern_write_list: next is NULL");
    if (status != TERN_OK)
        return tern_writer_fail(writer, status);
    for (const void *value = first; value != NULL; value = next(value, user))
        count++;
    status = tern_write_begin(writer, type->name, count);
    for (const void *value = first; value != NULL && status == TERN_OK; value = next(value, user))
        status = write_one(writer, type, value);
    return status == TERN_OK ? tern_write_end(writer) : status;
}

/* Where values go when they are read: to an array, or to the memory that add returns. */
typedef struct sink {
    char *array; /* NULL: use add */
    size_t room; /* how many values still fit the array */
    void *(*add)(void *user, uint64_t left);
    void *user;
} sink;

/* Returns memory for count values side by side if the sink is an array, else for one value. NULL:
 * no memory is left, or the archive has more values than the array takes; the reader has failed. */
static void *value_make_room(tern_reader *reader, const tern_type *type, sink *to, size_t count,
                             uint64_t left) {
    if (to->array == NULL) {
        void *value = to->add(to->user, left);
        if (value == NULL)
            (void)tern_reader_fail(reader, tern_fail(TERN_ERR_MEMORY,
                                                     "no memory for %" PRIu64
                                                     " values of type %s in an archive",
                                                     left, type->name));
        return value;
    }
    if (count > to->room) {
        (void)tern_reader_fail(reader, tern_fail(TERN_ERR_MISMATCH,
                                                 "an archive has more values of type %s than are "
                                                 "wanted",
                                                 type->name));
        return NULL;
    }
    void *value = to->array;
    to->array += count * type->bytes;
    to->room -= count;
    return value;
}

/* Reads one item, which holds values of a type without functions. runs: how many items follow in
 * the group. */
static tern_status read_plain(tern_reader *reader, const tern_type *type, sink *to, uint64_t runs) {
    size_t count = 0, element = element_of(type);
    const char *content =
        tern_internal_reader_next(reader, TERN_ITEM_BYTES, element, TERN_ITEM_COUNT_MAX, &count);
    if (content == NULL)
        return reader->status;
    if (count % (type->bytes / element) != 0)
        return tern_reader_fail(reader, tern_fail(TERN_ERR_MISMATCH,
                                                  "%zu bytes in an archive are no values of type "
                                                  "%s, of %zu bytes",
                                                  count, type->name, type->bytes));
    count /= type->bytes / element;
    size_t step = to->array != NULL ? count : 1;
    for (size_t i = 0; i < count; i += step) {
        void *value = value_make_room(reader, type, to, step, runs + (count - i));
        if (value == NULL)
            return reader->status;
        memcpy(value, content + i * type->bytes, step * type->bytes);
    }
    return TERN_OK;
}

static tern_status read_one(tern_reader *reader, const tern_type *type, sink *to, uint64_t left) {
    void *value = value_make_room(reader, type, to, 1, left);
    return value == NULL ? reader->status : tern_reader_fail(reader, type->read(reader, value));
}

static tern_status read_all(tern_reader *reader, const tern_type *type, sink *to) {
    uint64_t count = 0;
    tern_status status = tern_read_begin(reader, type->name, &count);
    for (uint64_t i = 0; i < count && status == TERN_OK; i++)
        status = type->read == NULL ? read_plain(reader, type, to, count - i - 1)
                                    : read_one(reader, type, to, count - i);
    return status == TERN_OK ? tern_read_end(reader) : status;
}

tern_status tern_read_values(tern_reader *reader, const tern_type *type, void *values,
                             size_t count) {
    char none = 0;
    sink to = {.array = count > 0 ? values : &none, .room = count};
    tern_status status = value_check(type, to.array);
    if (status == TERN_OK)
        status = read_all(reader, type, &to);
    if (status == TERN_OK && to.room > 0)
        status =
            tern_fail(TERN_ERR_MISMATCH, "an archive has %zu values of type %s; %zu are wanted",
                      count - to.room, type->name, count);
    return tern_reader_fail(reader, status);
}

tern_status tern_read_list(tern_reader *reader, const tern_type *type,
                           void *(*add)(void *user, uint64_t left), void *user) {
    sink to = {.add = add, .user = user};
    tern_status status = add != NULL ? value_check(type, reader)
                                     : tern_fail(TERN_ERR_ARGUMENT, "tern_read_list: add is NULL");
    if (status == TERN_OK)
        status = read_all(reader, type, &to);
    return tern_reader_fail(reader, status);
}
