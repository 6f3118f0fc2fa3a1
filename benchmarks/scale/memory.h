/* Copyright (c) 2026 the tern authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tern takes in a job of any size, computed by the library's own functions that lay its memory
 * out, and from the sizes of its structures. It is memory that is touched; what is only reserved
 * takes addresses and no memory. Not counted: the program's heap, MPI, and the network's library.
 */

#ifndef TERN_BENCHMARKS_SCALE_MEMORY_H
#define TERN_BENCHMARKS_SCALE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "tern/config.h"

typedef struct scale_memory {
    size_t fixed;     /* of a process, in a job of any size */
    size_t each_rank; /* of a node, once, for each rank of the job, before anybody was met */
    size_t process;   /* of a process, with what it keeps of ranks of its node and of deaths */
    size_t node;      /* of all processes of a node, and what they have once */
    size_t reserved;  /* addresses of a process: its tables, and the segments of its node */
    uint64_t rings;   /* of other workers into a process, when it has so many active peers */
    uint64_t no_ring; /* pairs for which there is no ring memory */
    size_t idle;      /* of a process that has exchanged one call with each of them */
    size_t full;      /* and of one that has filled a ring to and from each of them */
} scale_memory;

/* active: workers of other nodes that each process sends calls to and gets calls from. */
void scale_memory_compute(const tern_config *config, uint32_t ranks, uint32_t node_ranks,
                          uint32_t active, scale_memory *memory);

#endif
