#ifndef TERN_RMA_MEMORY_TABLES_H
#define TERN_RMA_MEMORY_TABLES_H

/*
 * Tables: what the rma layer of a process keeps for every rank and every worker of the job. They
 * lie in one mapping of their own, which takes memory only where it is touched: before first
 * contact that is what ranks of the own node have in the tables of segments and reach.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a worker has sent to a rank since its last flush. */
typedef struct tern_dirty {
    uint32_t what; /* TERN_DIRTY_*, rma/memory/state.h */
    uint32_t at;   /* if there is something: its rank's place in the list */
} tern_dirty;

/* A worker's posted puts to a rank (rma/transport/posts.h). */
typedef struct tern_posts {
    uint64_t flushes; /* that are over */
    uint64_t open;    /* puts posted since the last one */
} tern_posts;

#define TERN_IN_BYTES 192u /* of a tern_in (rma/ring/ring.h) */
#define TERN_TABLE_SPARE ((size_t)26 << 10)

/* Offsets in bytes from the start. */
typedef struct tern_tables {
    size_t segment; /* tern_segment[], by rank */
    size_t reach;   /* tern_reach[], by rank */
    size_t sent;    /* uint64_t[], messages sent, by rank */
    size_t served;  /* uint64_t[], messages served, by rank */
    size_t inbox;   /* uint64_t[], windows of inboxes, by worker of the job and lane */
    size_t ins;     /* tern_in[]: as many as there are rings */
    size_t workers; /* of each worker: the tables below */
    size_t worker_bytes;
    size_t dirty;       /* tern_dirty[], by rank: puts or atomics since the last flush */
    size_t dirty_ranks; /* uint32_t[]: the ranks of which that is so */
    size_t posts;       /* tern_posts[], by rank */
    size_t remotes;     /* void *[], by rank: what a port knows of it */
    size_t owed;        /* uint32_t[], by rank and lane: messages that were taken and not told */
    size_t out;         /* tern_out *[], by line */
    size_t in;          /* tern_in *[], by line */
    size_t loose;       /* tern_loose *[], by line */
    size_t active;      /* tern_in *[], for each channel as many as there are workers */
    size_t worker;      /* tern_rma_worker */
    size_t spare;       /* TERN_TABLE_SPARE bytes for parts of collectives (rma/notify/parts.c) */
    size_t bytes;
} tern_tables;

/* rings: of this rank's arena. apart: the workers' tables have pages of their own, so that each can
 * lie on another NUMA node. */
void tern_tables_compute(uint32_t ranks, uint32_t workers, size_t rings, bool apart,
                         tern_tables *tables);

/* The tables of the worker with that index. */
char *tern_tables_of_worker(const tern_tables *tables, char *base, uint32_t index);

/* What of them is touched before first contact, if all ranks share memory. */
size_t tern_tables_touched(uint32_t ranks);

/* NULL: no memory. */
char *tern_tables_map(const tern_tables *tables);
void tern_tables_unmap(const tern_tables *tables, char *base);

#endif
