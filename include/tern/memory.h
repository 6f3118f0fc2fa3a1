#ifndef TERN_MEMORY_H
#define TERN_MEMORY_H

/*
 * Memory: each rank has one segment that every rank can reach, and global pointers name addresses
 * in it. Segments lie in memory that the ranks of a node share, with a part on each NUMA node that
 * the rank may run on, in 1 GiB or 2 MiB pages where the system has them. Only the owner of a
 * segment allocates and frees in it; other ranks ask the owner.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"
#include "tern/ptr.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which ranks may apply atomics to a piece of memory, chosen when it is allocated. All atomics on
 * one word must be of the same kind, because a network card's atomics are not atomic with the
 * processor's.
 */
typedef enum tern_domain {
    TERN_DOMAIN_GLOBAL, /* every rank, with the kind of atomics that the transport between nodes
                           needs; the default */
    TERN_DOMAIN_NODE,   /* only ranks of the owner's node, with the processor's atomics */
    TERN_DOMAIN_OWNER   /* every rank; ranks of other nodes have the owner apply them */
} tern_domain;

/* Any NUMA node: preferably the one of the calling worker, or of the worker that is named. */
#define TERN_NUMA_ANY (-1)

/* Returns the NUMA node that the worker's own memory lies on, by hwloc's logical index, as
 * tern_alloc_on takes it; 0 on a machine with one. It is the node on which the worker's thread ran
 * when it adopted the worker, and before that the node on which tern expects the worker. Rings into
 * the worker and the worker's allocations are placed there if that node has memory left. Only the
 * thread that has adopted the worker may call it. Local, never blocks. */
TERN_API int tern_worker_numa(const tern_worker *worker);

/* Allocates bytes (1 or more) in this rank's segment, aligned to alignment (a power of two up to
 * 2 MiB, in the address space of every rank that maps it; 0 means 64). The content is undefined.
 * [out] p.
 * TERN_ERR_MEMORY: the segment has no free piece of that size and alignment. TERN_ERR_ARGUMENT.
 * Local, never blocks. */
TERN_NODISCARD TERN_API tern_status tern_alloc(tern_worker *worker, size_t bytes, size_t alignment,
                                               tern_domain domain, tern_ptr *p);

/* Allocates as tern_alloc does, but in the segment of rank, on NUMA node numa (hwloc's logical
 * index) or TERN_NUMA_ANY. A rank has memory on each NUMA node that its process could run on when
 * the context was created, unless huge pages are too few. Blocks, making progress, until the owner
 * has served the request in its progress; not in handlers (TERN_ERR_STATE). TERN_ERR_PEER: the
 * owner died. TERN_ERR_UNSUPPORTED: the rank has no memory on that NUMA node. */
TERN_NODISCARD TERN_API tern_status tern_alloc_on(tern_worker *worker, uint32_t rank, int numa,
                                                  size_t bytes, size_t alignment,
                                                  tern_domain domain, tern_ptr *p);

/* Allocates as tern_alloc_on does, on the NUMA node of worker target. */
TERN_NODISCARD TERN_API tern_status tern_alloc_on_worker(tern_worker *worker, tern_worker_id target,
                                                         size_t bytes, size_t alignment,
                                                         tern_domain domain, tern_ptr *p);

/* Frees memory that one of the functions above allocated. Any rank may free it; blocks like
 * tern_alloc_on if the memory lies in another rank's segment. TERN_NULL is fine. TERN_ERR_ARGUMENT:
 * p is not the start of an allocation. */
TERN_NODISCARD TERN_API tern_status tern_free(tern_worker *worker, tern_ptr p);

/** Allocates the same number of bytes on every rank, at the same offset of each segment: so
 * tern_ptr_on(mine, rank) is the piece of any rank, and no rank has to send its pointer to others.
 *
 * @param worker the calling worker
 * @param bytes 1 or more, the same on every rank, as are alignment and domain
 * @param alignment a power of two up to 2 MiB; 0 means 64
 * @param[out] mine this rank's piece, which the caller frees by tern_free_all; its content is
 *     undefined
 * @return TERN_OK; TERN_ERR_ARGUMENT; TERN_ERR_MISMATCH if the ranks ask for different pieces;
 *     TERN_ERR_MEMORY if no such piece is free at one offset on every rank (TERN_SEGMENT_SIZE);
 *     TERN_ERR_STATE in a handler; TERN_ERR_PEER if a rank died
 *
 * Blocking: collective over the ranks, one worker of each; may block.
 * Cost: a few meetings of all ranks, and at each rank a gather of 8 bytes of every rank; twice as
 * many for each offset that is free on some ranks only. So allocate large pieces early. */
TERN_NODISCARD TERN_API tern_status tern_alloc_all(tern_worker *worker, size_t bytes,
                                                   size_t alignment, tern_domain domain,
                                                   tern_ptr *mine);

/* Allocates as tern_alloc_all does and fills all pieces with zeros, before any rank returns. Costs
 * a barrier more. */
TERN_NODISCARD TERN_API tern_status tern_calloc_all(tern_worker *worker, size_t bytes,
                                                    size_t alignment, tern_domain domain,
                                                    tern_ptr *mine);

/** Replaces what tern_alloc_all gave by pieces of another size, once all ranks have called this and
 * their transfers are complete. Each piece keeps its content, up to the smaller of both sizes; the
 * rest is undefined. Pointers to the old pieces are no longer valid.
 *
 * @param p a piece, the rank's own or another's, and not TERN_NULL
 * @param bytes of the new pieces: 1 or more, the same on every rank, as is alignment
 * @param alignment as for tern_alloc_all; the domain is that of p
 * @param[out] mine this rank's new piece; unchanged after an error, and then p is still valid
 * @return the errors of tern_alloc_all and tern_free_all
 *
 * Blocking: collective over the ranks, one worker of each; may block.
 * Cost: those of tern_alloc_all and tern_free_all, and a copy of the piece; old and new pieces are
 * there at the same time. */
TERN_NODISCARD TERN_API tern_status tern_realloc_all(tern_worker *worker, tern_ptr p, size_t bytes,
                                                     size_t alignment, tern_ptr *mine);

/** Frees what tern_alloc_all gave, once all ranks have called this and their transfers are
 * complete. TERN_NULL is fine, on every rank.
 *
 * @param p a piece of it, the rank's own or another's
 * @return TERN_OK; TERN_ERR_MISMATCH if the ranks name different memory or are in another function;
 *     TERN_ERR_ARGUMENT if p is no start of an allocation; TERN_ERR_STATE in a handler;
 *     TERN_ERR_PEER if a rank died, and then the piece is free all the same
 *
 * Blocking: collective over the ranks, one worker of each; may block. */
TERN_NODISCARD TERN_API tern_status tern_free_all(tern_worker *worker, tern_ptr p);

/* Returns the plain address of p if this process reaches it by load/store, else NULL; NULL also for
 * a pointer out of range. Local, never blocks, any thread. */
TERN_API void *tern_local(const tern_context *context, tern_ptr p);

/* Facts about the segment of a rank. */
typedef struct tern_segment_info {
    size_t bytes;     /* size of the heap */
    size_t page_size; /* of its mapping; transparent huge pages count as 2 MiB */
    size_t in_use;    /* bytes allocated in this rank's heap */
    size_t parts;     /* NUMA nodes that this rank's heap lies on */
} tern_segment_info;

/* Describes the segment of this rank. [out] info. Local, never blocks, any thread. */
TERN_API void tern_segment_get_info(const tern_context *context, tern_segment_info *info);

#ifdef __cplusplus
}
#endif

#endif
