#ifndef SORT_EXCHANGE_H
#define SORT_EXCHANGE_H

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

#endif
