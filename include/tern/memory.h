#ifndef TERN_MEMORY_H
#define TERN_MEMORY_H

/*
 * Memory: each rank has one segment that every rank can reach, and global pointers name places in
 * it. Segments lie in memory that the ranks of a node share, bound to the NUMA nodes of
 * the rank's processors, in 1 GiB or 2 MiB pages where the system has them. Only its owner changes
 * the allocator of a segment; others ask it.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"
#include "tern/ptr.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ranks that may apply atomics to a piece of memory, chosen when it is allocated. One family of
 * atomics per word, always: a network card's atomics are not atomic with the processor's.
 */
typedef enum tern_domain {
    TERN_DOMAIN_GLOBAL, /* every rank, by what the transport between nodes needs; the default */
    TERN_DOMAIN_NODE,   /* ranks of the owner's node only, by the processor */
    TERN_DOMAIN_OWNER   /* every rank; ranks of other nodes have the owner apply them */
} tern_domain;

/* Any NUMA node: the one of the worker that asks, or of the worker that is named. */
#define TERN_NUMA_ANY (-1)

/* Allocates bytes (1 or more) in this rank's segment, aligned to alignment (a power of two up to
 * 2 MiB, in the address space of every rank that maps it; 0 means 64). The content is undefined.
 * [out] p.
 * TERN_ERR_MEMORY: the segment has no such piece free. TERN_ERR_ARGUMENT. Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_alloc(tern_worker *worker, size_t bytes, size_t alignment,
                                               tern_domain domain, tern_ptr *p);

/* The same in the segment of rank, on its NUMA node numa (hwloc's logical index) or TERN_NUMA_ANY.
 * Blocks until the owner's progress has served it, making progress; not in handlers
 * (TERN_ERR_STATE). TERN_ERR_PEER: the owner died. TERN_ERR_UNSUPPORTED: the rank has no memory on
 * that NUMA node. */
TERN_NODISCARD TERN_API tern_status tern_alloc_on(tern_worker *worker, uint32_t rank, int numa,
                                                  size_t bytes, size_t alignment,
                                                  tern_domain domain, tern_ptr *p);

/* The same, near the worker that is named. */
TERN_NODISCARD TERN_API tern_status tern_alloc_on_worker(tern_worker *worker, tern_worker_id target,
                                                         size_t bytes, size_t alignment,
                                                         tern_domain domain, tern_ptr *p);

/* Frees what the functions above gave, from any rank; blocks like tern_alloc_on if it lies in
 * another rank's segment. TERN_NULL is fine. TERN_ERR_ARGUMENT: p is not the start of an
 * allocation. */
TERN_NODISCARD TERN_API tern_status tern_free(tern_worker *worker, tern_ptr p);

/* A plain address of p if this process reaches it by load/store, else NULL; NULL too for a pointer
 * out of range. Local, never blocks, any thread. */
TERN_API void *tern_local(const tern_context *context, tern_ptr p);

/* What the segments turned out to be. */
typedef struct tern_segment_info {
    size_t bytes;     /* size of the heap */
    size_t page_size; /* of its mapping; transparent huge pages count as 2 MiB */
    size_t in_use;    /* bytes allocated in this rank's heap */
    size_t parts;     /* NUMA nodes that this rank's heap lies on */
} tern_segment_info;

/* [out] info. Local, never blocks, any thread. */
TERN_API void tern_segment_get_info(const tern_context *context, tern_segment_info *info);

#ifdef __cplusplus
}
#endif

#endif
