#ifndef TERN_RMA_REGION_REGION_H
#define TERN_RMA_REGION_REGION_H

/*
 * Regions: the records of registered memory, those of its owner and those that ranks of its node
 * read.
 *
 * Inside tern an offset names a byte of the segment of a rank, or a byte of one of its regions. The
 * top bit tells the two apart, so every transport can carry both. An offset in a region:
 *
 *     63: 1 | 62..51: slot | 50..40: generation | 39..0: byte
 *
 * Each use of a slot has another generation, so that a pointer into the old region is refused.
 * Slots are taken in turn, so the same slot and generation come back only after eight million
 * registrations.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "rma/network/network.h"
#include "rma/memory/state.h"
#include "src/context.h"

/* Memory that is registered with the network: that of a region, until the region has ended and no
 * port of this process moves data from or to it any more (rma/port/local.h). */
typedef struct tern_region_memory {
    tern_network_memory *network;
    uint32_t users; /* the region and ports; changed with the regions' lock held */
} tern_region_memory;

/* The owner's private record of a region. The copy in shared memory is never used as an address of
 * this process, since other ranks can overwrite it. */
typedef struct tern_registration {
    char *base;
    uint64_t bytes;
    uint32_t generation;
    uint32_t count;             /* registrations of it; 0: the slot is free */
    uint8_t *holders;           /* by rank: not 0 if it has the rkey; NULL: no rank has */
    bool closing;               /* its rkeys are being taken back, and no more are given */
    tern_region_memory *memory; /* over a network */
    tern_network_rkey network;
} tern_registration;

#define TERN_OFFSET_IN_REGION ((uint64_t)1 << 63)
#define TERN_OFFSET_BYTE (TERN_REGION_BYTES_MAX - 1)

static inline bool tern_offset_in_region(uint64_t offset) {
    return (offset & TERN_OFFSET_IN_REGION) != 0;
}

static inline uint32_t tern_offset_slot(uint64_t offset) {
    return (uint32_t)(offset >> 51) & TERN_REGIONS_MAX;
}

/* Whether a number that came from elsewhere could name a region. */
static inline bool tern_offset_may_be_in_region(uint64_t offset) {
    return tern_offset_in_region(offset) && tern_offset_slot(offset) < TERN_REGIONS_MAX;
}

/* Returns what all offsets in one region have in common: the offset without the byte. */
static inline uint64_t tern_region_of_offset(uint64_t offset) { return offset & ~TERN_OFFSET_BYTE; }

/* Converts a pointer into a region. [out] offset. TERN_ERR_RANGE: p is not in a region. */
tern_status tern_region_offset(tern_ptr p, uint64_t *offset);

/* [out] offset in the segment of p.rank. TERN_ERR_ARGUMENT: no such rank; TERN_ERR_RANGE: [p, p +
 * bytes) is not inside its heap. */
tern_status tern_segment_check(const tern_context *context, tern_ptr p, size_t bytes,
                               uint64_t *offset);

/* A use of a region by this process. As long as it lasts, the region stays registered. */
typedef struct tern_hold {
    _Atomic uint64_t *state; /* NULL: no region is held */
    char *address;           /* the address in the owner's process */
} tern_hold;

/* [out] hold, of [offset, offset + bytes) of a rank whose segment is mapped. TERN_ERR_RANGE: it is
 * not registered. Any thread. */
tern_status tern_region_hold(const tern_context *context, uint32_t rank, uint64_t offset,
                             uint64_t bytes, tern_hold *hold);
void tern_region_release(tern_hold *hold);
/* Looks at the region without a hold. Returns the present address of that memory in the owner's
 * process. NULL: it is not registered. */
char *tern_region_look(const tern_context *context, uint32_t rank, uint64_t offset, uint64_t bytes);

/* What the owner of a region tells a rank of another node: whether and where the region lies. */
typedef struct tern_region_rkey {
    int64_t status;
    uint64_t base, bytes;
    tern_network_rkey network;
} tern_region_rkey;

/* Gives the rkey of a region of this rank to rank holder. [out] rkey; its status may be
 * TERN_ERR_AGAIN: not now, since the region's rkeys are being taken back. */
void tern_region_give_rkey(tern_context *context, uint32_t holder, uint64_t offset,
                           tern_region_rkey *rkey);

/* One user less; the last one deregisters the memory. The regions' lock is held. */
void tern_region_memory_release(struct tern_native *native, tern_region_memory *memory);

bool tern_region_is_given(tern_context *context, uint32_t holder, uint64_t offset);

void tern_regions_open(tern_regions *regions);
void tern_regions_close(tern_context *context);

#endif
