#include "rma/ring/ring.h"

#include "base/error.h"
#include "rma/memory/doorbell.h"
#include "rma/memory/state.h"

/* The memory of the rings into a rank, in pieces (rma/ring/ring.h). */

/* Takes the pieces [at, at + pieces) of a rank for endpoint, or, if one is taken, none of them. */
static bool arena_take(tern_context *context, uint32_t rank, uint32_t endpoint, uint32_t at,
                       uint32_t pieces) {
    for (uint32_t i = 0; i < pieces; i++) {
        uint64_t nobody = 0;
        /* R6: tern_arena_release; the next owner writes after the last reader */
        if (atomic_compare_exchange_strong(&tern_ring_header_at(context, rank, at + i)->owner,
                                           &nobody, (uint64_t)endpoint + 1))
            continue;
        while (i-- > 0)
            /* R6: take */
            atomic_store(&tern_ring_header_at(context, rank, at + i)->owner, 0);
        return false;
    }
    return true;
}

/* The pieces of a rank that lie on one NUMA node. */
typedef struct arena_part {
    uint32_t from, count;
} arena_part;

/* Finds a part of the arena: for index 0 the one on the target worker's NUMA node, else the
 * index-th one after it, in a circle. False: index is past the last part. The numbers are read from
 * shared memory that another rank could overwrite, so they are checked. */
static bool arena_find_part(const tern_context *context, uint32_t target, uint32_t index,
                            arena_part *part) {
    const tern_rma *rma = tern_rma_of(context);
    tern_segment_header *header = (void *)rma->segment[tern_rank_of(context, target)].base;
    /* R9: make_segment */
    uint32_t parts = atomic_load_explicit(&header->arena_parts, memory_order_relaxed);
    if (parts == 0 || parts > rma->layout.ring_count)
        parts = 1;
    if (index >= parts)
        return false;
    const uint32_t at =
        (tern_doorbell_numa(tern_worker_page(context, target)) % parts + index) % parts;
    part->from = (uint32_t)tern_segment_arena_cut(&rma->layout, parts, at);
    part->count = (uint32_t)tern_segment_arena_cut(&rma->layout, parts, at + 1) - part->from;
    return true;
}

/* Takes one piece for a pair's first ring. Tries first the half of the part that growing rings
 * never take, then the other half. The endpoint decides where the search begins. */
static bool take_first(tern_context *context, uint32_t rank, uint32_t endpoint, arena_part part,
                       uint32_t *ring) {
    uint32_t count = part.count, kept = count - count / 2, begin = count / 2 + endpoint % kept;
    for (uint32_t i = 0; i < count; i++) {
        *ring = part.from + (begin + i) % count;
        if (arena_take(context, rank, endpoint, *ring, 1))
            return true;
    }
    return false;
}

/* Takes adjacent pieces for a ring that has grown, from the first half of the part only. */
static bool take_grown(tern_context *context, uint32_t rank, uint32_t endpoint, uint32_t pieces,
                       arena_part part, uint32_t *ring) {
    uint32_t groups = part.count / 2 / pieces;
    for (uint32_t i = 0; i < groups; i++) {
        *ring = part.from + (endpoint + i) % groups * pieces;
        if (arena_take(context, rank, endpoint, *ring, pieces))
            return true;
    }
    return false;
}

tern_status tern_arena_claim(tern_context *context, uint32_t target, uint32_t endpoint,
                             uint32_t pieces, uint64_t start, uint32_t *ring) {
    const uint32_t rank = tern_rank_of(context, target);
    bool taken = false;
    arena_part part;
    for (uint32_t i = 0; !taken && arena_find_part(context, target, i, &part); i++)
        taken = pieces == 1 ? take_first(context, rank, endpoint, part, ring)
                            : take_grown(context, rank, endpoint, pieces, part, ring);
    if (!taken)
        return tern_fail(TERN_ERR_MEMORY,
                         "the memory for rings into rank %u, which holds %zu of TERN_RING_SIZE, is "
                         "used up; raise TERN_RING_MEMORY or lower TERN_RING_SIZE",
                         rank, tern_rma_of(context)->layout.ring_count);
    uint64_t bytes = (uint64_t)pieces * context->config.ring_size;
    tern_ring_header *header = tern_ring_header_at(context, rank, *ring);
    char *data = tern_ring_data_at(context, rank, *ring);
    /* The word where the first record will lie must be zero, not an old header. The consumer sees
     * the zero before it looks there, since a release store makes the ring known to it. */
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

bool tern_arena_is_of(const tern_context *context, uint32_t endpoint, uint32_t ring,
                      uint64_t pieces) {
    uint64_t count = tern_rma_of(context)->layout.ring_count;
    if (pieces > count || ring > count - pieces)
        return false;
    for (uint32_t i = 0; i < pieces; i++)
        /* R6: take */
        if (atomic_load_explicit(&tern_ring_header_at(context, context->rank, ring + i)->owner,
                                 memory_order_acquire) != (uint64_t)endpoint + 1)
            return false;
    return true;
}

uint64_t tern_arena_ring_bytes(const tern_context *context, uint32_t ring) {
    const tern_layout *layout = &tern_rma_of(context)->layout;
    if (ring >= layout->ring_count)
        return 0;
    /* Relaxed: this is asked only for remote rings, whose size this process has set itself under
     * the MPI lock. Other ranks of the node could overwrite the word, so a size that does not fit
     * the arena is refused. */
    /* R5: tern_arena_claim */
    uint64_t bytes = atomic_load_explicit(&tern_ring_header_at(context, context->rank, ring)->bytes,
                                          memory_order_relaxed);
    bool whole = bytes % layout->ring_bytes == 0 && (bytes & (bytes - 1)) == 0 &&
                 bytes / layout->ring_bytes <= layout->ring_count - ring;
    return whole ? bytes : 0;
}
