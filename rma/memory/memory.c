#include "rma/memory/memory.h"

#include "base/error.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"

void tern_segment_get_info(const tern_context *context, tern_segment_info *info) {
    if (tern_is_destroyed(context)) {
        *info = (tern_segment_info){0};
        return;
    }
    tern_rma *rma = tern_rma_of(context);
    const tern_segment *mine = &rma->segment[context->rank];
    *info = (tern_segment_info){.bytes = rma->layout.heap_bytes,
                                .page_size = mine->transparent ? TERN_HUGE : mine->page,
                                .parts = rma->parts};
    pthread_mutex_lock(&rma->heap_lock);
    info->in_use = tern_heap_in_use(rma->heap);
    pthread_mutex_unlock(&rma->heap_lock);
}

tern_status tern_memory_take(tern_context *context, const tern_memory_request *request,
                             uint64_t *offset) {
    tern_rma *rma = tern_rma_of(context);
    const bool named = request->numa != TERN_NUMA_ANY;
    /* A worker of this rank; its page says on which NUMA node it runs. */
    const uint32_t near =
        context->rank * context->workers + request->near_worker % context->workers;
    size_t part = named ? tern_placement_find(&rma->placement, request->numa)
                        : tern_doorbell_numa(tern_worker_page(context, near)) % rma->parts;
    if (part >= rma->parts)
        return tern_fail(TERN_ERR_UNSUPPORTED,
                         "rank %u has no memory on NUMA node %d; use TERN_NUMA_ANY", context->rank,
                         request->numa);
    pthread_mutex_lock(&rma->heap_lock);
    tern_status status =
        named ? tern_heap_take_in(rma->heap, part, request->bytes, request->alignment, offset)
              : tern_heap_take(rma->heap, part, request->bytes, request->alignment, offset);
    pthread_mutex_unlock(&rma->heap_lock);
    return status;
}

tern_status tern_memory_take_from(tern_context *context, uint64_t lowest,
                                  const tern_memory_request *request, uint64_t *offset) {
    tern_rma *rma = tern_rma_of(context);
    pthread_mutex_lock(&rma->heap_lock);
    tern_status status =
        tern_heap_take_from(rma->heap, lowest, request->bytes, request->alignment, offset);
    pthread_mutex_unlock(&rma->heap_lock);
    return status;
}

tern_status tern_memory_give(tern_context *context, uint64_t offset) {
    tern_rma *rma = tern_rma_of(context);
    pthread_mutex_lock(&rma->heap_lock);
    tern_status status = tern_heap_give(rma->heap, offset);
    pthread_mutex_unlock(&rma->heap_lock);
    return status;
}

tern_status tern_memory_measure(tern_context *context, uint64_t offset, uint64_t *bytes) {
    tern_rma *rma = tern_rma_of(context);
    pthread_mutex_lock(&rma->heap_lock);
    tern_status status = tern_heap_measure(rma->heap, offset, bytes);
    pthread_mutex_unlock(&rma->heap_lock);
    return status;
}

tern_status tern_memory_check(const char *name, size_t bytes, size_t alignment,
                              tern_domain domain) {
    if (bytes == 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: bytes is 0; ask for 1 or more", name);
    if ((alignment & (alignment - 1)) != 0 || alignment > TERN_ALIGNMENT_MAX)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: alignment is %zu; use a power of two up to %zu",
                         name, alignment, TERN_ALIGNMENT_MAX);
    if ((unsigned)domain > TERN_DOMAIN_OWNER)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: domain is %d, which is no TERN_DOMAIN_ constant",
                         name, (int)domain);
    return TERN_OK;
}
