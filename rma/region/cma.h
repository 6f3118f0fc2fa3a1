#ifndef TERN_RMA_REGION_CMA_H
#define TERN_RMA_REGION_CMA_H

/*
 * Copies between this process and a region of another rank of the node. The region lies in private
 * memory of that rank. If the system allows a process to reach into another one, a system call
 * copies; otherwise the owner's progress copies through this rank's segment.
 */

#include "rma/region/region.h"

typedef enum tern_direction { TERN_PUT_INTO, TERN_GET_FROM } tern_direction;

/* Copies at once, by a system call. TERN_ERR_UNSUPPORTED: the system refuses, or TERN_CMA=off.
 * TERN_ERR_RANGE: the memory is not registered. TERN_ERR_PEER. TERN_ERR_SYSTEM: the owner has
 * registered the memory but not mapped it. */
tern_status tern_cma_copy_by_system(tern_worker *worker, uint32_t rank, uint64_t region_offset,
                                    char *local, uint64_t bytes, tern_direction direction);

/* Copies private memory of a rank of the node (or of this rank) from an address in that rank, at
 * once. The address need not be valid: the system checks it. TERN_ERR_UNSUPPORTED; TERN_ERR_SYSTEM:
 * the rank has no memory there; TERN_ERR_PEER. */
tern_status tern_cma_read(tern_worker *worker, uint32_t rank, uint64_t address, char *to,
                          uint64_t bytes);
/* Whether rank may read this process's memory in this way. This process tests whether it may read
 * that of rank, since the system's rules are the same for all ranks of a job. */
bool tern_cma_allowed(tern_worker *worker, uint32_t rank);

/* Serves another rank: copies between this rank's region and the heap of origin. */
tern_status tern_cma_serve(tern_worker *worker, uint32_t origin, uint64_t region_offset,
                           uint64_t bytes, uint64_t heap_offset, tern_direction direction);

#endif
