/*
 * R-MAT: an edge is a walk down a quadtree of the adjacency matrix. At each of scale levels it
 * takes one of four quadrants, with the probabilities a = 0.57, b = 0.19, c = 0.19, d = 0.05 of
 * Graph500. The numbers of the vertices are shuffled afterwards, since low numbers would have the
 * most edges.
 */
#include "edges.h"

/* Bounds of the quadrants in 2^32. */
static const uint32_t bound_a = 2448131359u, bound_b = 3264175145u, bound_c = 4080218931u;

void edges_add(edges *list, uint64_t from, uint64_t to) {
    if (list->count == list->room) {
        list->room += list->room / 2 + 1024;
        list->at = need(list->at, list->room, sizeof *list->at);
    }
    list->at[list->count++] = (edge){from, to};
}

void edges_free(edges *list) {
    free(list->at);
    *list = (edges){0};
}

/* A one-to-one map of the numbers of scale bits: products with odd numbers, and shifts to the
 * right, can be undone. */
static uint64_t shuffle(uint64_t vertex, unsigned scale, uint64_t seed) {
    const uint64_t mask = (UINT64_C(1) << scale) - 1;
    for (unsigned turn = 0; turn < 3; turn++) {
        vertex = (vertex * (mix(seed + turn) | 1) + mix(seed ^ turn)) & mask;
        vertex ^= vertex >> (scale / 2 + 1);
    }
    return vertex;
}

void edges_draw(edges *list, uint64_t first, uint64_t count, unsigned scale, uint64_t seed) {
    const uint64_t start = mix(seed + 1), labels = mix(seed + 2);
    for (uint64_t number = first; number < first + count; number++) {
        uint64_t from = 0, to = 0, state = mix(start ^ mix(number));
        for (unsigned level = 0; level < scale; level++) {
            uint32_t draw = (uint32_t)(mix(state + level * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
            from = from << 1 | (draw >= bound_b);
            to = to << 1 | ((draw >= bound_a && draw < bound_b) || draw >= bound_c);
        }
        edges_add(list, shuffle(from, scale, labels), shuffle(to, scale, labels));
    }
}
