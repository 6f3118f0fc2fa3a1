#include "archive_trees.h"

static tern_status write_node(tern_writer *writer, const void *value);
static tern_status read_node(tern_reader *reader, void *value);

const tern_type tree_type = {"tree", sizeof(tree), write_node, read_node};
const tern_type tree_point_type = {"point", sizeof(tree_point), NULL, NULL};

tree *tree_make(uint64_t *random, unsigned depth) {
    tree *t = calloc(1, sizeof *t);
    size_t length = below(random, below(random, 4) ? 12 : 200);
    t->number = tern_test_random(random);
    t->text = calloc(1, length + 1);
    memset(t->text, 'a' + (int)below(random, 26), length);
    t->point_count = below(random, 3) ? 0 : below(random, 20);
    t->points = calloc(t->point_count + 1, sizeof *t->points);
    for (size_t i = 0; i < t->point_count; i++)
        t->points[i] = (tree_point){(double)i / 3, (int32_t)tern_test_random(random)};
    for (uint64_t children = depth > 0 ? below(random, 4) : 0; children > 0; children--) {
        tree *child = tree_make(random, depth - 1);
        child->sibling = t->children;
        t->children = child;
    }
    return t;
}

void tree_free(tree *t) {
    while (t != NULL) {
        tree *next = t->sibling;
        tree_free(t->children);
        free(t->points);
        free(t->text);
        free(t);
        t = next;
    }
}

bool tree_equal(const tree *a, const tree *b) {
    while (a != NULL && b != NULL) {
        if (a->number != b->number || strcmp(a->text, b->text) != 0 ||
            a->point_count != b->point_count || !tree_equal(a->children, b->children))
            return false;
        for (size_t i = 0; i < a->point_count; i++)
            if (a->points[i].x != b->points[i].x || a->points[i].label != b->points[i].label)
                return false;
        a = a->sibling;
        b = b->sibling;
    }
    return a == b;
}

static const void *next_sibling(const void *value, void *user) {
    (void)user;
    return ((const tree *)value)->sibling;
}

static tern_status write_node(tern_writer *writer, const void *value) {
    const tree *t = value;
    (void)TERN_WRITE(writer, &t->number, 1);
    (void)tern_write_string(writer, t->text);
    (void)TERN_WRITE(writer, &t->point_count, 1);
    (void)tern_write_values(writer, &tree_point_type, t->points, t->point_count);
    return tern_write_list(writer, &tree_type, t->children, next_sibling, NULL);
}

/* Appends a node to the list that user points to the end of. */
static void *add_node(void *user, uint64_t left) {
    (void)left;
    tree ***end = user;
    tree *t = calloc(1, sizeof *t);
    **end = t;
    *end = &t->sibling;
    return t;
}

/* An array that grows once, to what is said to come. */
static void *add_point(void *user, uint64_t left) {
    tree *t = user;
    if (t->points == NULL)
        t->points = calloc(left, sizeof *t->points);
    return &t->points[t->point_count++];
}

static tern_status read_node(tern_reader *reader, void *value) {
    tree *t = value;
    const char *text = NULL;
    uint64_t wanted = 0;
    tree **end = &t->children;
    (void)TERN_READ(reader, &t->number, 1);
    if (tern_read_string(reader, &text, NULL) == TERN_OK)
        t->text = strdup(text);
    (void)TERN_READ(reader, &wanted, 1);
    if (tern_read_list(reader, &tree_point_type, add_point, t) == TERN_OK &&
        t->point_count != wanted)
        return TERN_ERR_MISMATCH;
    return tern_read_list(reader, &tree_type, add_node, &end);
}

tern_status tree_write(tern_writer *writer, const tree *t) {
    return tern_write_values(writer, &tree_type, t, 1);
}

tern_status tree_read(tern_reader *reader, tree **t) {
    tree **end = t;
    *t = NULL;
    return tern_read_list(reader, &tree_type, add_node, &end);
}

tern_status tree_read_archive(const void *archive, size_t bytes, const tern_chunk *chunks,
                              size_t count, tree **t) {
    tern_reader reader;
    *t = NULL;
    (void)tern_reader_open(&reader, archive, bytes);
    if (count > 0)
        (void)tern_reader_chunks(&reader, chunks, count);
    (void)tree_read(&reader, t);
    return tern_reader_close(&reader);
}
