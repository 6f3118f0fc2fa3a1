/*
 * Random trees of values, for suites and programs that archive them: nodes with numbers, text,
 * points in an array, and children in a linked list.
 */

#ifndef TERN_TESTS_HARNESS_ARCHIVE_TREES_H
#define TERN_TESTS_HARNESS_ARCHIVE_TREES_H

#include <stdlib.h>

#include "fixture.h"

typedef struct tree_point {
    double x;
    int32_t label;
} tree_point;

typedef struct tree {
    uint64_t number;
    char *text;
    tree_point *points;
    size_t point_count;
    struct tree *children, *sibling;
} tree;

extern const tern_type tree_type, tree_point_type;

/* A tree of some nodes, no deeper than depth. */
tree *tree_make(uint64_t *random, unsigned depth);
void tree_free(tree *t);
/* Returns whether two trees are equal. NULL is equal to NULL. */
bool tree_equal(const tree *a, const tree *b);

tern_status tree_write(tern_writer *writer, const tree *t);
/* Reads a tree. [out] t: what was read, also on a failure. */
tern_status tree_read(tern_reader *reader, tree **t);
/* Reads a tree from a whole archive: opens and closes the reader, too. chunks may be NULL. */
tern_status tree_read_archive(const void *archive, size_t bytes, const tern_chunk *chunks,
                              size_t count, tree **t);

#endif
