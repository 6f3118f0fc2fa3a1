#ifndef GRAPH_LISTS_H
#define GRAPH_LISTS_H

/*
 * The adjacency lists of some vertices, and a number for each of these vertices: its slot, from 0
 * on. What belongs to a vertex, such as its level, lies in arrays at its slot.
 */

#include "edges.h"

#define NO_SLOT SIZE_MAX

typedef struct {
    uint64_t vertex;
    size_t slot; /* NO_SLOT: the entry is free */
} lists_entry;

typedef struct {
    size_t vertices;
    uint64_t *vertex; /* of each slot */
    size_t *start;    /* positions in neighbour of each slot's list, and where the last one ends */
    uint64_t *neighbour; /* of each list in order, without duplicates and the vertex itself */
    lists_entry
        *entry; /* where vertices are looked up: a power of two of them, half of them free */
    size_t mask;
} lists;

/* Makes the lists of all vertices that arcs start from. A self loop makes a vertex and no
 * neighbour. The caller frees them with lists_free. */
void lists_make(lists *l, const edges *arcs);
void lists_free(lists *l);

/* Frees the lists alone. Vertices keep their slots, and lists_degree its answers. */
void lists_forget_neighbours(lists *l);

/* Returns the vertex's slot, or NO_SLOT. */
static inline size_t lists_slot(const lists *l, uint64_t vertex) {
    size_t at = mix(vertex) & l->mask;
    while (l->entry[at].slot != NO_SLOT && l->entry[at].vertex != vertex)
        at = (at + 1) & l->mask;
    return l->entry[at].slot;
}

static inline size_t lists_degree(const lists *l, size_t slot) {
    return l->start[slot + 1] - l->start[slot];
}

#endif
