#ifndef TERN_RMA_MEMORY_SEGMENT_H
#define TERN_RMA_MEMORY_SEGMENT_H

/*
 * Segment: the memory of a rank that others reach, one memfd mapped by every rank of its node.
 * It holds, in this order:
 *
 *     header   one page: identity, and on rank 0 where all ranks meet (src/collective/meeting.h)
 *     boards   one per worker: doorbells, ring table, credit cells, reply cells
 *     rings    headers of the rings into this rank, one cache line each
 *     regions  registered memory of this rank (rma/region/region.h)
 *     places   on the node's lowest rank: which node and machine each rank is of
 *     listeners  there too: where each rank listens (src/peers/address.h)
 *     arena    the rings' records
 *     heap     what tern_alloc hands out; the only part that tern_ptr names
 *
 * All of it is zero at first and takes memory only when touched. The layout is a pure function of
 * the job's size and configuration, so every rank computes everybody's.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/collective/meeting.h"
#include "src/peers/peers.h"
#include "tern/call.h"
#include "tern/registration.h"

#define TERN_LINE 64u
#define TERN_PAGE 4096u
#define TERN_HUGE ((size_t)2 << 20)
/* A record that names a ring has 24 bits for it. */
#define TERN_RINGS_MAX ((size_t)1 << 24)

/* A word with a cache line to itself. */
typedef struct tern_line {
    _Alignas(TERN_LINE) _Atomic uint64_t word;
} tern_line;

#define TERN_SEGMENT_MAGIC 0x746e656d67657331u

typedef struct tern_segment_header {
    uint64_t magic;
    uint64_t nonce;               /* of the context */
    _Atomic uint32_t arena_parts; /* NUMA nodes that the arena lies on */
    tern_meeting meeting;         /* rank 0 */
    tern_activity activity;
} tern_segment_header;

/* What a far target has consumed of a ring. A network may write a word in pieces: the complement
 * tells a whole credit. Messages have a word of their own, as an older one may come after a put. */
typedef struct tern_credit {
    _Atomic uint64_t position, complement;
    _Atomic uint64_t told;
} tern_credit;

/* In the target's segment, one line per ring. */
typedef struct tern_ring_header {
    _Alignas(TERN_LINE) _Atomic uint64_t owner; /* origin's worker number + 1; 0: free */
    _Atomic uint64_t consumed;     /* by the target; read by a near origin that finds no room */
    _Atomic uint64_t idle;         /* by the target: 1 if it waits for the doorbell */
    _Atomic uint64_t published[2]; /* by a far origin with TERN_RMA_COMMIT=flush: {p, ~p} */
    _Atomic uint64_t bytes;        /* of the ring */
} tern_ring_header;

/* What consumes a ring: progress, or the application's probes (rma/notify/event.c). */
enum { TERN_CHANNEL_CALLS, TERN_CHANNEL_NOTIFY, TERN_CHANNELS };

/* A cell for a reply (rma/reply/reply.h). The sequence word is written last. Over rma the whole
 * image is one put, whose words may come in any order: then the sequence carries
 * TERN_REPLY_CHECKED, and check, XXH3 over the rest seeded with the context's nonce, tells a whole
 * image. */
#define TERN_REPLY_CHECKED (UINT64_C(1) << 63)

typedef struct tern_cell {
    _Alignas(TERN_LINE) _Atomic uint64_t sequence;
    uint64_t check; /* with TERN_REPLY_CHECKED only */
    uint32_t status;
    uint32_t bytes;
    char payload[TERN_RESULT_MAX];
} tern_cell;

/* What ranks of the node read of a region, in its owner's segment; all zero: none was ever there.
 */
typedef struct tern_region {
    _Atomic uint64_t state; /* see region.c */
    _Atomic uint64_t base;  /* address in the owner's process */
    _Atomic uint64_t bytes;
} tern_region;

/* Offsets in bytes from the start of the segment; of a board, from the board's start. */
typedef struct tern_layout {
    size_t boards, board_bytes;
    /* By line: a worker of the job on one of its channels. */
    size_t doorbells; /* board: _Atomic uint64_t[], a bit per line */
    size_t table;     /* board: _Atomic uint64_t[], the ring from each line: index + 1, or 0 */
    size_t credits;   /* board: tern_credit[], what each line's other end has consumed */
    size_t cells;     /* board: tern_cell[TERN_CALL_REQUESTS] */
    size_t rings, ring_count;
    size_t regions;   /* tern_region[TERN_REGIONS_MAX] */
    size_t places;    /* uint32_t[]: by rank its node, then by rank its machine */
    size_t listeners; /* tern_listener_address[], by rank; the lowest rank of the node has both */
    size_t arena, ring_bytes;
    size_t heap, heap_bytes;
    size_t bytes;
} tern_layout;

void tern_layout_compute(const tern_config *config, uint32_t ranks, tern_layout *layout);

/* base NULL: of a rank of another node. */
typedef struct tern_segment {
    char *base;       /* a multiple of page, and of 2 MiB */
    size_t bytes;     /* a multiple of page */
    size_t page;      /* of the mapping: TERN_PAGE, 2 MiB or 1 GiB */
    bool transparent; /* the kernel may join ordinary pages of the heap to 2 MiB */
} tern_segment;

/* Makes this rank's segment of the pages that config asks for, or of the next smaller ones that
 * the system has, and logs in one line which it got. [out] fd: to share it by; the caller's. */
tern_status tern_segment_create(const tern_config *config, const tern_layout *layout,
                                tern_segment *segment, int *fd);

/* A page lies on one NUMA node. So the heap is cut where pages end, into at most wanted parts: one
 * for each page if it has fewer pages. tern_segment_parts: how many; tern_segment_cut: offset in
 * the heap where part index begins, heap_bytes for index == parts. */
size_t tern_segment_parts(const tern_layout *layout, size_t page, size_t wanted);
size_t tern_segment_cut(const tern_layout *layout, size_t page, size_t parts, size_t index);

/* The arena is cut between pieces, into as many parts. tern_segment_arena_cut: the ring with which
 * part index begins. */
size_t tern_segment_arena_parts(const tern_layout *layout, size_t wanted);
size_t tern_segment_arena_cut(const tern_layout *layout, size_t parts, size_t index);

/* Touches the heap if config says so. */
void tern_segment_prefault(const tern_config *config, const tern_layout *layout,
                           const tern_segment *segment);

/* Maps the segment of another rank of the node; fd stays the caller's. */
tern_status tern_segment_map(const tern_config *config, const tern_layout *layout, int fd,
                             tern_segment *segment);
void tern_segment_destroy(tern_segment *segment);

/* Collective: hands fd, or if it is -1 nothing, to every rank of the node and takes theirs: fds[r]
 * for ranks of this node that give one. fds: -1 before, and after for the others and this one. */
tern_status tern_segment_share(tern_context *context, int fd, int *fds);

#endif
