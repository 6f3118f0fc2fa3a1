#ifndef SORT_OPTIONS_H
#define SORT_OPTIONS_H

#include <tern/tern.h>

#include "keys.h"

/*
 * The exchange sends every rank's outgoing keys to the ranks whose buckets they are in. A way to do
 * that is a table of functions, which all ranks call in the same order:
 *
 *     open    once
 *     run     once per iteration: moves keys from outgoing to mine, where job_expect has made room
 *     close   once
 */

struct job;

typedef struct exchange {
    const char *name;
    void (*open)(struct job *j);
    void (*run)(struct job *j);
    void (*close)(struct job *j);
} exchange;

extern const exchange exchange_queue;     /* blocks of keys through tern's queues */
extern const exchange exchange_alltoallv; /* MPI_Alltoallv, to compare */

typedef struct {
    uint64_t keys; /* of each rank; with strong, of all ranks together */
    bool strong;
    uint64_t seed;
    distribution draw;
    unsigned iterations;
    const exchange *exchange;
    tern_flags via;
    size_t block;   /* in keys */
    uint64_t queue; /* in blocks */
    bool json;
} options;

/* Returns the exit status if there is nothing to sort, and then a rank with speaks set has printed
 * why; else -1. [out] o: the options. */
int options_read(int argc, char **argv, bool speaks, options *o);

/* Returns the name of the option's value. */
const char *options_draw_name(const options *o);
const char *options_via_name(const options *o);

#endif
