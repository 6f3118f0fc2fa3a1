#include "lists.h"

#include <string.h>

/* Gives the vertex a slot if it has none. Returns its slot. */
static size_t lists_add(lists *l, uint64_t vertex) {
    size_t at = mix(vertex) & l->mask;
    while (l->entry[at].slot != NO_SLOT && l->entry[at].vertex != vertex)
        at = (at + 1) & l->mask;
    if (l->entry[at].slot == NO_SLOT)
        l->entry[at] = (lists_entry){vertex, l->vertices++};
    return l->entry[at].slot;
}

static void lists_make_entries(lists *l, size_t most) {
    size_t entries = 2;
    while (entries < 2 * most)
        entries *= 2;
    l->entry = need(NULL, entries, sizeof *l->entry);
    l->mask = entries - 1;
    for (size_t i = 0; i < entries; i++)
        l->entry[i].slot = NO_SLOT;
}

/* Makes the table of entries as small as its vertices permit: lookups in it miss the caches less.
 */
static void lists_shrink_entries(lists *l) {
    free(l->entry);
    lists_make_entries(l, l->vertices);
    size_t vertices = l->vertices;
    l->vertices = 0;
    for (size_t slot = 0; slot < vertices; slot++)
        lists_add(l, l->vertex[slot]);
}

static int compare_vertices(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts each list and moves it to where the one before it ends. */
static void lists_remove_duplicates(lists *l) {
    size_t end = 0;
    for (size_t slot = 0; slot < l->vertices; slot++) {
        uint64_t *list = l->neighbour + l->start[slot];
        size_t count = lists_degree(l, slot), first = end;
        qsort(list, count, sizeof *list, compare_vertices);
        l->start[slot] = first;
        for (size_t i = 0; i < count; i++)
            if (list[i] != l->vertex[slot] && (end == first || l->neighbour[end - 1] != list[i]))
                l->neighbour[end++] = list[i];
    }
    l->start[l->vertices] = end;
}

void lists_make(lists *l, const edges *arcs) {
    *l = (lists){0};
    lists_make_entries(l, arcs->count);
    size_t *slots = need(NULL, arcs->count, sizeof *slots);
    for (size_t i = 0; i < arcs->count; i++)
        slots[i] = lists_add(l, arcs->at[i].from);
    l->vertex = need(NULL, l->vertices, sizeof *l->vertex);
    l->start = need(NULL, l->vertices + 1, sizeof *l->start);
    l->neighbour = need(NULL, arcs->count, sizeof *l->neighbour);
    /* The length of each list stands at the slot after it, until positions take its place. */
    memset(l->start, 0, (l->vertices + 2) * sizeof *l->start);
    for (size_t i = 0; i < arcs->count; i++) {
        l->vertex[slots[i]] = arcs->at[i].from;
        l->start[slots[i] + 2]++;
    }
    for (size_t slot = 0; slot < l->vertices; slot++)
        l->start[slot + 2] += l->start[slot + 1];
    for (size_t i = 0; i < arcs->count; i++)
        l->neighbour[l->start[slots[i] + 1]++] = arcs->at[i].to;
    free(slots);
    lists_remove_duplicates(l);
    lists_shrink_entries(l);
}

void lists_forget_neighbours(lists *l) {
    free(l->neighbour);
    l->neighbour = NULL;
}

void lists_free(lists *l) {
    free(l->vertex);
    free(l->start);
    free(l->neighbour);
    free(l->entry);
    *l = (lists){0};
}
