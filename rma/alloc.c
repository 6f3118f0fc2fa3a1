#include "tern/memory.h"

#include "base/error.h"
#include "rma/memory/state.h"
#include "rma/region/region.h"
#include "rma/reply/owner_service.h"

static char *own_region(const tern_context *context, tern_ptr p) {
    uint64_t offset = 0;
    return tern_region_offset(p, &offset) == TERN_OK ? tern_region_look(context, p.rank, offset, 1)
                                                     : NULL;
}

void *tern_local(const tern_context *context, tern_ptr p) {
    if (context == NULL || p.rank >= context->size)
        return NULL;
    if (p.segment != 0)
        return p.rank == context->rank ? own_region(context, p) : NULL;
    const tern_reach *reach = &tern_rma_of(context)->reach[p.rank];
    uint64_t at = p.offset - TERN_PTR_ORIGIN;
    return at < reach->bytes ? reach->base + at : NULL;
}

static tern_status memory_allocate(tern_worker *worker, tern_worker_id target, int numa,
                                   size_t bytes, size_t alignment, tern_domain domain,
                                   tern_ptr *p) {
    if (worker == NULL || p == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_alloc: worker or p is NULL");
    tern_context *context = worker->context;
    tern_status status = tern_worker_check(context, target, "tern_alloc");
    if (status == TERN_OK)
        status = tern_memory_check("tern_alloc", bytes, alignment, domain);
    if (status != TERN_OK)
        return status;
    tern_memory_request request = {.bytes = bytes,
                                   .alignment = alignment < TERN_HEAP_GRANULE ? TERN_HEAP_GRANULE
                                                                              : alignment,
                                   .numa = numa,
                                   .near_worker = target.index};
    uint64_t offset = 0;
    status = target.rank == context->rank
                 ? tern_memory_take(context, &request, &offset)
                 : tern_service_allocate(worker, target.rank, &request, &offset);
    if (status == TERN_OK)
        *p = (tern_ptr){target.rank, 0, (uint16_t)domain, TERN_PTR_ORIGIN + offset};
    return status;
}

tern_status tern_alloc(tern_worker *worker, size_t bytes, size_t alignment, tern_domain domain,
                       tern_ptr *p) {
    tern_worker_id self = {0, 0};
    if (worker != NULL)
        self = (tern_worker_id){worker->context->rank, worker->index};
    return memory_allocate(worker, self, TERN_NUMA_ANY, bytes, alignment, domain, p);
}

tern_status tern_alloc_on(tern_worker *worker, uint32_t rank, int numa, size_t bytes,
                          size_t alignment, tern_domain domain, tern_ptr *p) {
    return memory_allocate(worker, (tern_worker_id){rank, 0}, numa, bytes, alignment, domain, p);
}

tern_status tern_alloc_on_worker(tern_worker *worker, tern_worker_id target, size_t bytes,
                                 size_t alignment, tern_domain domain, tern_ptr *p) {
    return memory_allocate(worker, target, TERN_NUMA_ANY, bytes, alignment, domain, p);
}

tern_status tern_free(tern_worker *worker, tern_ptr p) {
    if (worker == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "tern_free: worker is NULL");
    if (tern_ptr_is_null(p))
        return TERN_OK;
    tern_context *context = worker->context;
    if (tern_is_destroyed(context))
        return tern_destroyed_fail("tern_free");
    if (p.rank >= context->size || p.segment != 0)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "tern_free: the pointer, to rank %u and segment %u, is not to an allocation%s", p.rank,
            p.segment, p.segment != 0 ? "; pass registered memory to tern_deregister" : "");
    return p.rank == context->rank ? tern_memory_give(context, p.offset - TERN_PTR_ORIGIN)
                                   : tern_service_free(worker, p.rank, p.offset - TERN_PTR_ORIGIN);
}
