#ifndef GRAPH_ANSWER_H
#define GRAPH_ANSWER_H

#include "edges.h"

/* What was found out about a vertex. */
typedef struct {
    uint64_t vertex;
    uint64_t search;    /* level and parent (spread.h), NO_VALUE if it was not reached */
    uint64_t component; /* least vertex of its component */
} answer;

/* The answers of all vertices, independent of their order: sums over the vertices. */
typedef struct {
    uint64_t reached;    /* vertices */
    uint64_t levels;     /* sum of the levels */
    uint64_t components; /* number of them */
    uint64_t hashes;     /* sum of a hash of each answer */
} digest;

digest answers_digest(const answer *answers, size_t count);

/*
 * check.c: compares answers with a sequential run over the same edges. The rules for the search are
 * those of Graph500: the source is its own parent; every other reached vertex has an edge to its
 * parent, whose level is one less; the ends of an edge are both reached, with levels that differ by
 * at most one, or both not reached. Besides, levels are those of the sequential search, and
 * components those of a union-find.
 */

/* Returns whether the answers are right. If not, [out] why: one line. */
bool answers_check(const answer *answers, size_t count, const edges *all, uint64_t source,
                   char *why, size_t room);

#endif
