#ifndef TERN_RMA_MEMORY_TABLES_H
#define TERN_RMA_MEMORY_TABLES_H

/*
 * Tables: the state that the rma layer of a process keeps for every rank and every worker of the
 * job. They lie in one mapping of their own, which takes memory only where it is touched. Before
 * first contact, a process touches only the entries for the ranks of its node in two tables:
 * segment and reach.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a worker has sent to a rank since its last flush. */
typedef struct tern_dirty {
    uint32_t what; /* TERN_DIRTY_*, rma/memory/state.h */
    uint32_t at;   /* index in the list of dirty ranks, if what is not 0 */
} tern_dirty;

/* A worker's posted puts to a rank (rma/transport/posts.h). */
typedef struct tern_posts {
    uint64_t flushes; /* flushes that are complete */
    uint64_t open;    /* puts posted since the last flush */
} tern_posts;

#define TERN_IN_BYTES 192u /* size of a tern_in (rma/ring/ring.h) */

/* Offsets in bytes from the start. */
typedef struct tern_tables {
    size_t segment; /* tern_segment[], by rank */
    size_t reach;   /* tern_reach[], by rank */
    size_t sent;    /* uint64_t[], messages sent, by rank */
    size_t served;  /* uint64_t[], messages served, by rank */
    size_t inbox;   /* uint64_t[], credit used of inboxes, by worker of the job and lane */
    size_t ins;     /* tern_in[], one for each ring */
    size_t workers; /* the tables below, for each worker */
    size_t worker_bytes;
    size_t dirty;            /* tern_dirty[], by rank: puts or atomics since the last flush */
    size_t dirty_ranks;      /* uint32_t[]: list of the ranks with such puts or atomics */
    size_t posts;            /* tern_posts[], by rank */
    size_t remotes;          /* void *[], by rank: a port's state of the rank */
    size_t owed;             /* uint32_t[], by rank and lane: cost taken and not yet reported */
    size_t out;              /* tern_out *[], by endpoint */
    size_t in;               /* tern_in *[], by endpoint */
    size_t message_channels; /* tern_message_channel *[], by endpoint */
    size_t active;           /* tern_in *[], one for each worker of the job, for each channel */
    size_t worker;           /* tern_rma_worker */
    size_t bytes;
} tern_tables;

/* Computes the layout. rings: number of rings in this rank's arena. apart: gives each worker's
 * tables pages of their own, so that they can lie on another NUMA node. */
void tern_tables_compute(uint32_t ranks, uint32_t workers, size_t rings, bool apart,
                         tern_tables *tables);

/* The tables of the worker with that index. */
char *tern_tables_of_worker(const tern_tables *tables, char *base, uint32_t index);

/* Bytes of the tables that are touched before first contact, if all ranks share memory. */
size_t tern_tables_touched(uint32_t ranks);

/* Maps the tables. NULL: no memory. */
char *tern_tables_map(const tern_tables *tables);
void tern_tables_unmap(const tern_tables *tables, char *base);

#endif
