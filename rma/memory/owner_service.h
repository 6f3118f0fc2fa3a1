#ifndef TERN_RMA_MEMORY_OWNER_SERVICE_H
#define TERN_RMA_MEMORY_OWNER_SERVICE_H

/*
 * Service: what only the owner of a segment may do, asked for by a record and answered into a reply
 * cell. Only its owner changes the allocator of a segment.
 */

#include "rma/memory/cma.h"

/* Of a request. */
#define TERN_ALIGNMENT_MAX TERN_HUGE

typedef struct tern_memory_request {
    uint64_t bytes, alignment;
    int32_t numa;         /* or TERN_NUMA_ANY: near that worker */
    uint32_t near_worker; /* index */
} tern_memory_request;

/* In this rank's own segment (rma/memory/memory.c). Any thread. */
tern_status tern_memory_take(tern_context *context, const tern_memory_request *request,
                             uint64_t *offset);
/* The piece with the lowest offset that is at least lowest, on any NUMA node. */
tern_status tern_memory_take_from(tern_context *context, uint64_t lowest,
                                  const tern_memory_request *request, uint64_t *offset);
tern_status tern_memory_give(tern_context *context, uint64_t offset);
/* TERN_ERR_ARGUMENT if nobody can have such a piece. name: the public function. */
tern_status tern_memory_check(const char *name, size_t bytes, size_t alignment, tern_domain domain);

/* In the segment of another rank; wait for its progress. */
tern_status tern_service_allocate(tern_worker *worker, uint32_t rank,
                                  const tern_memory_request *request, uint64_t *offset);
tern_status tern_service_free(tern_worker *worker, uint32_t rank, uint64_t offset);

/* Has the owner of a region copy between it and this rank's own heap. */
tern_status tern_service_copy(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes,
                              uint64_t heap_offset, tern_direction direction);

#endif
