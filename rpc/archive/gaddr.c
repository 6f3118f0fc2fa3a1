#include "rma/region/region.h"
#include "rma/memory/state.h"
#include "rpc/archive/archive.h"

/* Finds the global address of memory of this process, if other ranks can reach it. */

static tern_ptr gaddr_in_segment(const tern_context *context, const char *memory, size_t bytes) {
    const tern_rma *rma = tern_rma_of(context);
    const char *heap = rma->mine + rma->layout.heap;
    if (memory < heap || memory > heap + rma->layout.heap_bytes ||
        bytes > (size_t)(heap + rma->layout.heap_bytes - memory))
        return TERN_NULL;
    return (tern_ptr){context->rank, 0, TERN_DOMAIN_GLOBAL,
                      TERN_PTR_ORIGIN + (uint64_t)(memory - heap)};
}

/* Returns TERN_NULL if the memory is in no region. */
static tern_ptr gaddr_in_region(const tern_context *context, const char *memory, size_t bytes) {
    tern_regions *regions = tern_regions_of(context);
    tern_ptr gaddr = TERN_NULL;
    pthread_mutex_lock(&regions->lock);
    for (uint32_t i = 0; i < regions->slots; i++) {
        const tern_registration *r = &regions->entry[i];
        if (r->count == 0 || r->closing || memory < r->base || memory > r->base + r->bytes ||
            bytes > (size_t)(r->base + r->bytes - memory))
            continue;
        uint64_t at = (uint64_t)(memory - r->base);
        gaddr = (tern_ptr){context->rank, (uint16_t)(i + 1), TERN_DOMAIN_GLOBAL,
                           TERN_PTR_ORIGIN + (r->generation * TERN_REGION_BYTES_MAX | at)};
        break;
    }
    pthread_mutex_unlock(&regions->lock);
    return gaddr;
}

tern_ptr tern_gaddr_of(const tern_worker *worker, const void *memory, size_t bytes) {
    tern_ptr gaddr = gaddr_in_segment(worker->context, memory, bytes);
    return tern_ptr_is_null(gaddr) ? gaddr_in_region(worker->context, memory, bytes) : gaddr;
}

size_t tern_zero_copy_min(const tern_worker *worker) {
    return worker->context->config.zero_copy_min;
}
