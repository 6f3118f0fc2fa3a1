#ifndef TERN_RMA_MEMORY_MEMORY_H
#define TERN_RMA_MEMORY_MEMORY_H

/* The allocator of this rank's own segment, by any thread. */

#include "rma/memory/segment.h"
#include "tern/memory.h"

/* The largest alignment that a request may have. */
#define TERN_ALIGNMENT_MAX TERN_HUGE

typedef struct tern_memory_request {
    uint64_t bytes, alignment;
    int32_t numa;         /* a NUMA node; or TERN_NUMA_ANY: where near_worker runs */
    uint32_t near_worker; /* index of a worker of the owner */
} tern_memory_request;

tern_status tern_memory_take(tern_context *context, const tern_memory_request *request,
                             uint64_t *offset);
/* Takes the piece with the lowest offset that is at least `lowest`, on any NUMA node. */
tern_status tern_memory_take_from(tern_context *context, uint64_t lowest,
                                  const tern_memory_request *request, uint64_t *offset);
tern_status tern_memory_give(tern_context *context, uint64_t offset);
/* [out] bytes: of the piece at offset, rounded up to the heap's granule. */
tern_status tern_memory_measure(tern_context *context, uint64_t offset, uint64_t *bytes);
/* TERN_ERR_ARGUMENT if no segment can give such a piece. name: the public function. */
tern_status tern_memory_check(const char *name, size_t bytes, size_t alignment, tern_domain domain);

#endif
