#ifndef GRAPH_OPTIONS_H
#define GRAPH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *file;  /* NULL: an R-MAT graph */
    unsigned scale;    /* 2^scale vertices */
    uint64_t edges;    /* for each vertex */
    uint64_t seed;     /* of the R-MAT graph */
    bool source_given; /* false: the vertex with the most neighbours */
    uint64_t source;
    unsigned iterations;
    bool mpi; /* the program by MPI alone runs besides */
    bool check;
    bool json;
} options;

/* Returns the exit status if there is nothing to compute, and then a rank with speaks set has
 * printed why; else -1. [out] o: the options. */
int options_read(int argc, char **argv, bool speaks, options *o);

#endif
