#include "rma/ring/ring.h"

#include "base/error.h"
#include "rma/state.h"

static bool arena_take(tern_context *context, uint32_t rank, uint32_t line, uint32_t at,
                       uint32_t pieces) {
    for (uint32_t i = 0; i < pieces; i++) {
        uint64_t nobody = 0;
        /* R6: tern_arena_release; the next owner writes after the last reader */
        if (atomic_compare_exchange_strong(&tern_ring_header_at(context, rank, at + i)->owner,
                                           &nobody, (uint64_t)line + 1))
            continue;
        while (i-- > 0)
            /* R6: take */
            atomic_store(&tern_ring_header_at(context, rank, at + i)->owner, 0);
        return false;
    }
    return true;
}

/* A pair's first ring: anywhere, beginning with the half that is kept for such. */
static bool take_first(tern_context *context, uint32_t rank, uint32_t line, uint32_t *ring) {
    uint32_t count = (uint32_t)tern_rma_of(context)->layout.ring_count;
    uint32_t kept = count - count / 2, begin = count / 2 + line % kept;
    for (uint32_t i = 0; i < count; i++) {
        *ring = (begin + i) % count;
        if (arena_take(context, rank, line, *ring, 1))
            return true;
    }
    return false;
}

static bool take_grown(tern_context *context, uint32_t rank, uint32_t line, uint32_t pieces,
                       uint32_t *ring) {
    uint32_t groups = (uint32_t)tern_rma_of(context)->layout.ring_count / 2 / pieces;
    for (uint32_t i = 0; i < groups; i++) {
        *ring = (line + i) % groups * pieces;
        if (arena_take(context, rank, line, *ring, pieces))
            return true;
    }
    return false;
}

tern_status tern_arena_claim(tern_context *context, uint32_t rank, uint32_t line, uint32_t pieces,
                             uint64_t start, uint32_t *ring) {
    bool taken = pieces == 1 ? take_first(context, rank, line, ring)
                             : take_grown(context, rank, line, pieces, ring);
    if (!taken)
        return tern_fail(TERN_ERR_MEMORY,
                         "the memory for rings into rank %u, %zu of TERN_RING_SIZE, is used up; "
                         "raise TERN_RING_MEMORY or lower TERN_RING_SIZE",
                         rank, tern_rma_of(context)->layout.ring_count);
    uint64_t bytes = (uint64_t)pieces * context->config.ring_size;
    tern_ring_header *header = tern_ring_header_at(context, rank, *ring);
    char *data = tern_ring_data_at(context, rank, *ring);
    /* Where the first record will lie there must be no old one. Seen before it is looked at: the
     * ring is made known by a release store. */
    /* R9: tern_ring_peek, ring_announce; published with the ring, by its table or the MOVED record
     */
    atomic_store_explicit(tern_ring_word(data, bytes - 1, start), 0, memory_order_relaxed);
    atomic_store_explicit(&header->consumed, start, memory_order_relaxed);
    atomic_store_explicit(&header->idle, 0, memory_order_relaxed);
    atomic_store_explicit(&header->published[0], 0, memory_order_relaxed);
    atomic_store_explicit(&header->published[1], 0, memory_order_relaxed);
    atomic_store_explicit(&header->bytes, bytes, memory_order_relaxed);
    return TERN_OK;
}

void tern_arena_release(tern_context *context, uint32_t ring, uint64_t bytes) {
    uint32_t pieces = (uint32_t)(bytes / context->config.ring_size);
    for (uint32_t i = 0; i < pieces; i++)
        /* R6: take; the next owner writes after the last read here */
        atomic_store_explicit(&tern_ring_header_at(context, context->rank, ring + i)->owner, 0,
                              memory_order_release);
}

bool tern_arena_is_of(const tern_context *context, uint32_t line, uint32_t ring, uint64_t pieces) {
    uint64_t count = tern_rma_of(context)->layout.ring_count;
    if (pieces > count || ring > count - pieces)
        return false;
    for (uint32_t i = 0; i < pieces; i++)
        /* R6: take */
        if (atomic_load_explicit(&tern_ring_header_at(context, context->rank, ring + i)->owner,
                                 memory_order_acquire) != (uint64_t)line + 1)
            return false;
    return true;
}

uint64_t tern_arena_ring_bytes(const tern_context *context, uint32_t ring) {
    const tern_layout *layout = &tern_rma_of(context)->layout;
    if (ring >= layout->ring_count)
        return 0;
    /* Relaxed: asked for far rings, whose size this process has set itself under the MPI lock.
     * Other ranks of the node could write there: what does not fit the arena is no size. */
    /* R5: tern_arena_claim */
    uint64_t bytes = atomic_load_explicit(&tern_ring_header_at(context, context->rank, ring)->bytes,
                                          memory_order_relaxed);
    bool whole = bytes % layout->ring_bytes == 0 && (bytes & (bytes - 1)) == 0 &&
                 bytes / layout->ring_bytes <= layout->ring_count - ring;
    return whole ? bytes : 0;
}
