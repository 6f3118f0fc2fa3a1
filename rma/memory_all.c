#include "tern/memory.h"

#include <stdlib.h>
#include <string.h>

#include "rma/memory/heap.h"
#include "rma/reply/owner_service.h"
#include "src/collective/collective.h"

/* Allocates memory at the same offset of all segments. Each rank takes the lowest free piece of its
 * segment that is not below a limit. If the offsets differ, all ranks give their pieces back and
 * try again with the highest offset as the limit, since that rank has no free piece below it. So
 * the limit rises until a piece at one offset is free on all ranks, or a rank has no piece left. */

static tern_status gather_highest(tern_worker *worker, uint64_t mine, uint64_t *gathered,
                                  uint64_t *highest, bool *same) {
    tern_context *context = worker->context;
    tern_status status = tern_collective_allgather(context, worker, &mine, sizeof mine, gathered);
    *highest = mine;
    *same = true;
    for (uint32_t r = 0; r < context->size && status == TERN_OK; r++) {
        *same = *same && gathered[r] == mine;
        *highest = gathered[r] > *highest ? gathered[r] : *highest;
    }
    return status;
}

static tern_status take_on_all(tern_worker *worker, const tern_memory_request *request,
                               uint64_t *gathered, uint64_t *offset, const char *name) {
    tern_context *context = worker->context;
    uint64_t limit = 0;
    for (;;) {
        bool same = false;
        const tern_status mine = tern_memory_take_from(context, limit, request, offset);
        tern_status status = tern_collective_agree(context, worker, mine, name);
        if (status == TERN_OK)
            status = gather_highest(worker, *offset, gathered, &limit, &same);
        if (status == TERN_OK && same)
            return TERN_OK;
        if (mine == TERN_OK)
            tern_ignore(tern_memory_give(context, *offset));
        if (status != TERN_OK)
            return status;
    }
}

static tern_status alloc_all(tern_worker *worker, size_t bytes, size_t alignment,
                             tern_domain domain, tern_ptr *mine, const char *name) {
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    uint64_t *gathered = malloc(context->size * sizeof *gathered);
    status = tern_memory_check(name, bytes, alignment, domain);
    if (status == TERN_OK && mine == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: mine is NULL", name);
    if (status == TERN_OK && gathered == NULL)
        status = tern_fail(TERN_ERR_MEMORY, "%s: no memory for %u ranks", name, context->size);
    status = tern_collective_agree(context, worker, status, name);
    const tern_field asked[] = {
        {"bytes", bytes}, {"alignment", alignment}, {"domain", (uint64_t)domain}};
    if (status == TERN_OK)
        status =
            tern_collective_same_fields(context, worker, asked, sizeof asked / sizeof *asked, name);
    const tern_memory_request request = {
        .bytes = bytes, .alignment = alignment < TERN_HEAP_GRANULE ? TERN_HEAP_GRANULE : alignment};
    uint64_t offset = 0;
    if (status == TERN_OK)
        status = take_on_all(worker, &request, gathered, &offset, name);
    if (status == TERN_OK)
        *mine = (tern_ptr){context->rank, 0, (uint16_t)domain, TERN_PTR_ORIGIN + offset};
    free(gathered);
    return status;
}

tern_status tern_alloc_all(tern_worker *worker, size_t bytes, size_t alignment, tern_domain domain,
                           tern_ptr *mine) {
    static const char name[] = "tern_alloc_all";
    TERN_COLLECTIVE(worker, name);
    return alloc_all(worker, bytes, alignment, domain, mine, name);
}

/* Begins a collective that ends an allocation: the ranks name the same one, and their transfers
 * are complete. */
static tern_status end_piece(tern_worker *worker, tern_ptr p, const char *name) {
    if (p.segment != 0)
        return tern_fail(
            TERN_ERR_ARGUMENT,
            "%s: the pointer is to segment %u and not to an allocation; pass registered "
            "memory to tern_deregister",
            name, p.segment);
    return tern_barrier(worker);
}

static tern_status give_piece(tern_context *context, tern_ptr p) {
    return tern_memory_give(context, p.offset - TERN_PTR_ORIGIN);
}

tern_status tern_calloc_all(tern_worker *worker, size_t bytes, size_t alignment, tern_domain domain,
                            tern_ptr *mine) {
    static const char name[] = "tern_calloc_all";
    TERN_COLLECTIVE(worker, name);
    tern_ptr piece = TERN_NULL;
    tern_status status =
        alloc_all(worker, bytes, alignment, domain, mine != NULL ? &piece : NULL, name);
    if (status != TERN_OK)
        return status;
    memset(tern_local(worker->context, piece), 0, bytes);
    status = tern_barrier(worker);
    if (status == TERN_OK)
        *mine = piece;
    else
        tern_ignore(give_piece(worker->context, piece));
    return status;
}

/* Copies this rank's piece to a new one. Before the first barrier others may still put to the old
 * one, and before the second none may put to the new one. */
tern_status tern_realloc_all(tern_worker *worker, tern_ptr p, size_t bytes, size_t alignment,
                             tern_ptr *mine) {
    static const char name[] = "tern_realloc_all";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    const tern_field named[] = {{"the segment of p", p.segment},
                                {"the offset of p", p.offset},
                                {"the domain of p", p.domain}};
    status =
        tern_collective_same_fields(context, worker, named, sizeof named / sizeof *named, name);
    if (status != TERN_OK)
        return status;
    if (tern_ptr_is_null(p))
        return tern_fail(TERN_ERR_ARGUMENT, "%s: p is TERN_NULL; allocate by tern_alloc_all", name);
    status = end_piece(worker, p, name);
    if (status != TERN_OK)
        return status;
    uint64_t old = 0;
    status = tern_memory_measure(context, p.offset - TERN_PTR_ORIGIN, &old);
    status = tern_collective_agree(context, worker, status, name);
    tern_ptr piece = TERN_NULL;
    if (status == TERN_OK)
        status = alloc_all(worker, bytes, alignment, (tern_domain)p.domain,
                           mine != NULL ? &piece : NULL, name);
    if (status != TERN_OK)
        return status;
    memcpy(tern_local(context, piece), tern_local(context, tern_ptr_on(p, context->rank)),
           bytes < old ? bytes : old);
    status = tern_barrier(worker);
    if (status != TERN_OK) {
        tern_ignore(give_piece(context, piece));
        return status;
    }
    *mine = piece;
    return give_piece(context, p);
}

tern_status tern_free_all(tern_worker *worker, tern_ptr p) {
    static const char name[] = "tern_free_all";
    TERN_COLLECTIVE(worker, name);
    tern_status status = tern_worker_may_wait(worker, name);
    if (status != TERN_OK)
        return status;
    tern_context *context = worker->context;
    const tern_field named[] = {{"the segment of p", p.segment}, {"the offset of p", p.offset}};
    status =
        tern_collective_same_fields(context, worker, named, sizeof named / sizeof *named, name);
    if (status == TERN_OK && tern_ptr_is_null(p))
        return TERN_OK;
    if (status == TERN_OK)
        status = end_piece(worker, p, name);
    if (status != TERN_OK && status != TERN_ERR_PEER)
        return status;
    const tern_status given = give_piece(context, p);
    return status != TERN_OK ? status : given;
}
