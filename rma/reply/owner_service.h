#ifndef TERN_RMA_REPLY_OWNER_SERVICE_H
#define TERN_RMA_REPLY_OWNER_SERVICE_H

/*
 * Services that only the owner of a segment may perform. A worker asks for one by a record, and the
 * answer comes into a reply cell. For example, only its owner may change the allocator of a
 * segment.
 */

#include "rma/memory/memory.h"
#include "rma/region/cma.h"

/* Allocate and free in the segment of another rank; both wait for that rank's progress. */
tern_status tern_service_allocate(tern_worker *worker, uint32_t rank,
                                  const tern_memory_request *request, uint64_t *offset);
tern_status tern_service_free(tern_worker *worker, uint32_t rank, uint64_t offset);

/* Asks the owner of a region to copy between the region and this rank's own heap. */
tern_status tern_service_copy(tern_worker *worker, uint32_t rank, uint64_t region_offset,
                              uint64_t bytes, uint64_t heap_offset, tern_direction direction);

/* Copies like tern_cma_copy_by_system; if the system refuses that, copies with the owner's help.
 * TERN_ERR_STATE: called in a handler. */
tern_status tern_cma_copy(tern_worker *worker, uint32_t rank, uint64_t region_offset, char *local,
                          uint64_t bytes, tern_direction direction);

/* Consumes a record that asks this rank for a service. */
size_t tern_service_consume(tern_worker *worker, struct tern_in *in);

#endif
