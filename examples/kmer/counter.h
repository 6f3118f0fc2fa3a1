#ifndef KMER_COUNTER_H
#define KMER_COUNTER_H

/*
 * The table of counts: a hash table of tern, distributed over the ranks.
 */

#include <mpi.h>

#include <tern/tern.h>

#include "error.h"
#include "progress.h"
#include "sink.h"

typedef struct kmer_counter {
    tern_context *context;
    tern_worker *worker;
    tern_hashtable *table;
    tern_via via;
    uint64_t capacity;
    bool ample;             /* the capacity is certainly enough, and memory is shared */
    uint64_t counted;       /* k-mers, by this rank */
    double seconds;         /* in the table's operations */
    double asked;           /* when the next rank last gave a sign of life */
    kmer_progress progress; /* while counting */
    kmer_error *error;      /* of the operation under way */
} kmer_counter;

/* How many different k-mers fit into the memory of this machine, if all ranks are on it. */
uint64_t kmer_counter_room_here(void);
/* Collective. How many fit into the memory of all machines. */
uint64_t kmer_counter_room(MPI_Comm comm);

/* What tern_config_init says, with a segment for capacity k-mers, if nobody has set its size. */
int kmer_counter_configure(tern_config *config, uint64_t capacity, int ranks, kmer_error *error);

/* Collective. via NULL: rma where all ranks share memory, where it was 1.2 to 2 times as fast as
 * call; else call, which then was 100 times as fast and more. Fails on all ranks if it does on one.
 */
int kmer_counter_open(kmer_counter *counter, MPI_Comm comm, const tern_config *config,
                      const tern_via *via, uint64_t capacity, bool ample, kmer_error *error);
void kmer_counter_close(kmer_counter *counter);

/* Collective. Every rank hands its k-mers to the sink that read gets; read is run once, and what it
 * returns (non-zero: failed, error says why) is returned, non-zero too if another rank failed or
 * the table is full. When it returns on one rank, everything is counted on all. */
int kmer_counter_count(kmer_counter *counter, int (*read)(kmer_sink *sink, void *argument),
                       void *argument, kmer_error *error);

/* Names of the transports between the ranks, "rma+shm". */
void kmer_counter_transports(const kmer_counter *counter, char *text, size_t room);

#endif
