#ifndef GRAPH_EDGES_H
#define GRAPH_EDGES_H

/*
 * Edges as they are drawn or read: pairs of vertices in no order, with duplicates and self loops.
 * As arcs they have a direction: each edge becomes two.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { VERTEX_BITS = 40 }; /* of the largest vertex number */
#define VERTEX_MOST ((UINT64_C(1) << VERTEX_BITS) - 1)

typedef struct {
    uint64_t from, to;
} edge;

typedef struct {
    edge *at;
    size_t count, room;
} edges;

void edges_add(edges *list, uint64_t from, uint64_t to);
void edges_free(edges *list);

/* rmat.c: adds the edges number first to first + count - 1 of the R-MAT graph of 2^scale vertices
 * with the parameters of Graph500. An edge depends on seed and its number only, so any number of
 * ranks draws the same graph. */
void edges_draw(edges *list, uint64_t first, uint64_t count, unsigned scale, uint64_t seed);

/* edge_file.c: adds the edges of the lines that begin in the rank's share of a file. A line is two
 * vertex numbers, blank, or a comment that begins with '#'. If it fails, [out] why: one line, which
 * names the file, the line and the remedy. */
bool edges_read(edges *list, const char *file, unsigned rank, unsigned ranks, char *why,
                size_t room);

/* Spreads the bits of a number over the whole word. */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* If one rank cannot go on, no rank can: prints the reason and ends the job. */
static inline void give_up(const char *why) {
    fprintf(stderr, "graph: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Returns memory for count items of bytes each. Ends the job if memory is lacking. */
static inline void *need(void *memory, size_t count, size_t bytes) {
    void *room = count >= SIZE_MAX / bytes ? NULL : realloc(memory, (count + 1) * bytes);
    if (room == NULL)
        give_up("no memory for so large a graph: take more machines or a smaller --scale");
    return room;
}

#endif
