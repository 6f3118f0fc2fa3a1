#ifndef KMER_COUNTER_H
#define KMER_COUNTER_H

/*
 * The table of counts: a hash table of tern, distributed over the ranks.
 */

#include <mpi.h>

#include <tern/tern.h>

#include "error.h"
#include "job.h"
#include "sink.h"
#include "table_file.h"

typedef struct kmer_counter {
    tern_context *context;
    tern_worker *worker;
    tern_hashtable *table;
    tern_flags via;
    uint64_t capacity;
    bool ample;             /* the capacity is enough, and all ranks share memory */
    uint64_t counted;       /* number of k-mers that this rank has counted */
    uint64_t loaded;        /* sum of the counts that this rank's part had in the file */
    double seconds;         /* time in the table's operations */
    double asked;           /* time at which the next rank last gave a sign of life */
    kmer_progress progress; /* while counting */
    kmer_error *error;      /* of the operation under way */
} kmer_counter;

/* Returns how many different k-mers fit into the memory of this machine, if all ranks are on it. */
uint64_t kmer_counter_room_here(void);
/* Collective. Returns how many fit into the memory of all machines. */
uint64_t kmer_counter_room(MPI_Comm comm);

/* Sets the configuration of tern_config_init, with a segment for capacity k-mers unless its size is
 * set already. */
int kmer_counter_configure(tern_config *config, uint64_t capacity, int ranks, kmer_error *error);

/* Collective. via NULL: rma if all ranks share memory, where it was 1.2 to 2 times as fast as call;
 * else call, which then was 100 times as fast and more. The table begins with what file holds, if
 * it has a name. A rank may fail alone. */
int kmer_counter_open(kmer_counter *counter, MPI_Comm comm, const tern_config *config,
                      const tern_flags *via, uint64_t capacity, bool ample,
                      const kmer_table_file *file, kmer_error *error);
void kmer_counter_close(kmer_counter *counter);

/* Collective. Every rank calls read once, which puts the rank's k-mers into the sink. Returns the
 * value of read (non-zero: it failed, and error has the reason); also non-zero if another rank
 * failed or the table is full. When it returns on one rank, everything is counted on all ranks. */
int kmer_counter_count(kmer_counter *counter, int (*read)(kmer_sink *sink, void *argument),
                       void *argument, kmer_error *error);

/* Writes the names of the transports between the ranks, such as "rma+shm". */
void kmer_counter_transports(const kmer_counter *counter, char *text, size_t room);

#endif
