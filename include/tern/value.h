#ifndef TERN_VALUE_H
#define TERN_VALUE_H

/*
 * Values of the application's own types in archives (HPX, paper 004, section 3). A type
 * is described once:
 *
 *     static tern_status write_node(tern_writer *w, const void *value);
 *     static tern_status read_node(tern_reader *r, void *value);
 *     static const tern_type node = {"node", sizeof(struct node), write_node, read_node};
 *
 *     tern_write_values(w, &node, nodes, count);      an array; 1 for one value
 *     tern_write_list(w, &node, first, next, NULL);   a linked list
 *     tern_read_values(r, &node, nodes, count);       into memory that is there
 *     tern_read_list(r, &node, add, &list);           into memory that is made one by one
 *
 * What was written as an array can be read as a list, and the other way round. Types without
 * functions are copied bit by bit, an array of them at once. A function may write anything, values
 * of its own type too, up to TERN_GROUPS_MAX inside each other, and reads just that: at least one
 * item a value. What it returns, when it is not TERN_OK, becomes the status of the writer or
 * reader.
 *
 * In the archive values are a group that has the type's name and their count; without functions the
 * count is that of the items among which they are spread. Threads as archives.
 */

#include "tern/archive.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same name wherever it is written and read; the structure and its functions stay as long as
 * they are used. */
typedef struct tern_type {
    const char *name;
    size_t bytes; /* of a value in memory; 1 or more */
    tern_status (*write)(tern_writer *writer, const void *value);
    tern_status (*read)(tern_reader *reader, void *value);
} tern_type;

/* Writes count values that lie side by side. TERN_ERR_ARGUMENT: NULL, a type of 0 bytes, or one
 * with a function of only one kind; and what tern_write_begin, tern_write_items and the type's
 * function give. */
TERN_API tern_status tern_write_values(tern_writer *writer, const tern_type *type,
                                       const void *values, size_t count);

/* Writes a list from first (NULL: it is empty) to the value after which next gives NULL. It is
 * walked twice and must not change meanwhile. Errors as tern_write_values. */
TERN_API tern_status tern_write_list(tern_writer *writer, const tern_type *type, const void *first,
                                     const void *(*next)(const void *value, void *user),
                                     void *user);

/* Reads just count values to values. TERN_ERR_MISMATCH: there are more or fewer, of another name or
 * size; and what tern_read_begin, tern_read_items and the type's function give. What was read
 * before a failure is the caller's to dispose of. */
TERN_API tern_status tern_read_values(tern_reader *reader, const tern_type *type, void *values,
                                      size_t count);

/* Reads each value to the memory that add gives for it; left: values that are still to come, this
 * one included, of which there is no more than the archive has bytes. add returns NULL when there
 * is no memory: TERN_ERR_MEMORY. Other errors as tern_read_values. */
TERN_API tern_status tern_read_list(tern_reader *reader, const tern_type *type,
                                    void *(*add)(void *user, uint64_t left), void *user);

#ifdef __cplusplus
}
#endif

#endif
