#ifndef TERN_RMA_REPLY_OWNER_SERVICE_H
#define TERN_RMA_REPLY_OWNER_SERVICE_H

/*
 * Service: what only the owner of a segment may do, asked for by a record and answered into a reply
 * cell. Only its owner changes the allocator of a segment.
 */

#include "rma/memory/memory.h"
#include "rma/region/cma.h"

/* In the segment of another rank; wait for its progress. */
tern_status tern_service_allocate(tern_worker *worker, uint32_t rank,
                                  const tern_memory_request *request, uint64_t *offset);
tern_status tern_service_free(tern_worker *worker, uint32_t rank, uint64_t offset);

/* Has the owner of a region copy between it and this rank's own heap. */
tern_status tern_service_copy(tern_worker *worker, uint32_t rank, uint64_t place, uint64_t bytes,
                              uint64_t heap_offset, tern_direction direction);

/* tern_cma_copy_now, and where the system refuses that, the same with the owner's help.
 * TERN_ERR_STATE: in a handler. */
tern_status tern_cma_copy(tern_worker *worker, uint32_t rank, uint64_t place, char *local,
                          uint64_t bytes, tern_direction direction);

/* Requests to the owner of a segment. */
size_t tern_service_consume(tern_worker *worker, struct tern_in *in);

#endif
