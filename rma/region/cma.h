#ifndef TERN_RMA_REGION_CMA_H
#define TERN_RMA_REGION_CMA_H

/*
 * Copies between this process and a region of a rank of the same node, which is in no memory that
 * they share: with one system call, where the system allows one process to reach into
 * another; else through this rank's segment, by the owner's progress.
 */

#include "rma/region/region.h"

typedef enum tern_direction { TERN_PUT_INTO, TERN_GET_FROM } tern_direction;

/* At once. TERN_ERR_UNSUPPORTED: the system refuses, or TERN_CMA=off. TERN_ERR_RANGE: not
 * registered. TERN_ERR_PEER. TERN_ERR_SYSTEM: the owner has not mapped it as it should. */
tern_status tern_cma_copy_now(tern_worker *worker, uint32_t rank, uint64_t place, char *local,
                              uint64_t bytes, tern_direction direction);

/* Copies private memory of a rank of the node, this one included, from an address there, at once.
 * The address may come from anywhere: the system checks it. TERN_ERR_UNSUPPORTED; TERN_ERR_SYSTEM:
 * no memory of its; TERN_ERR_PEER. */
tern_status tern_cma_read(tern_worker *worker, uint32_t rank, uint64_t address, char *to,
                          uint64_t bytes);
/* Whether rank may read this process's memory so: by what this one may do, as rules are the same
 * for all of a job. */
bool tern_cma_allowed(tern_worker *worker, uint32_t rank);

/* Serves another rank: between this rank's region and the heap of origin. */
tern_status tern_cma_serve(tern_worker *worker, uint32_t origin, uint64_t place, uint64_t bytes,
                           uint64_t heap_offset, tern_direction direction);

#endif
