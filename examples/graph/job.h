#ifndef GRAPH_JOB_H
#define GRAPH_JOB_H

#include "answer.h"
#include "edges.h"
#include "lists.h"
#include "options.h"
#include "spread.h"

/*
 * What differs between the program that uses tern and the one that uses MPI alone: where the
 * vertices and their lists lie, and how offers reach the owner of a vertex. All ranks call these
 * functions in the same order.
 */
typedef struct job job;

typedef struct {
    const char *name;
    /* Makes lists of the vertices that this rank owns, out of the edges that all ranks have. */
    void (*open)(const job *j, lists *l);
    /* Begins a step of s (spread_turn), which may get offers from now on. Returns the number of
     * vertices of all ranks in this step. */
    uint64_t (*turn)(spread *s);
    /* Offers what the vertices of this step offer. When it returns on a rank, all offers of all
     * ranks have arrived. */
    void (*step)(spread *s);
    void (*close)(void);
} method;

extern const method by_tern; /* a map, and calls that are combined */
extern const method by_mpi;  /* arrays, and MPI_Alltoallv */

struct job {
    const options *options;
    uint32_t rank, size;
    edges mine;       /* the edges that this rank has drawn or read */
    uint64_t all;     /* number of edges of all ranks */
    uint64_t largest; /* vertex */
};

/* The vertices of a graph, and times. */
typedef struct {
    uint64_t vertices, edges, most; /* in the graph; most: neighbours of a vertex */
    uint64_t source;
    uint64_t searched; /* edges of the component of the source */
    uint64_t levels, components_steps;
    digest digest;
    double open, search, components; /* seconds */
} outcome;

/* Collective. Returns the exit status. */
int job_run(const options *o);

/* print.c: what rank 0 prints. mpi NULL: only tern was run. */
void print_outcome(const job *j, const outcome *tern, const outcome *mpi);

#endif
