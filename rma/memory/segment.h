#ifndef TERN_RMA_MEMORY_SEGMENT_H
#define TERN_RMA_MEMORY_SEGMENT_H

/*
 * A segment is the memory of a rank that other ranks reach: one memfd, mapped by every rank of its
 * node. It holds, in this order:
 *
 *     header         one page: identity; on rank 0 the meeting of all (src/collective/meeting.h)
 *     worker pages   one per worker: doorbells, ring table, credit cells, reply cells
 *     rings          headers of the rings into this rank, one cache line each
 *     regions        registered memory of this rank (rma/region/region.h)
 *     places         on the node's lowest rank: the node and the machine of each rank
 *     listeners      there too: where each rank listens (src/peers/address.h)
 *     stripes        locks for updates of numbers of 16 bytes (rma/memory/stripe.h)
 *     arena          the rings' records
 *     heap           the memory of tern_alloc; the only part to which a tern_ptr can lead
 *
 * All of it is zero at first and takes memory only when touched. The layout is a pure function of
 * the job's size and configuration, so every rank can compute that of any other.
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
/* Records have 24 bits for the index of a ring. */
#define TERN_RINGS_MAX ((size_t)1 << 24)

/* A word in a cache line of its own. */
typedef struct tern_line {
    _Alignas(TERN_LINE) _Atomic uint64_t word;
} tern_line;

/* How many locks a segment has for updates of numbers of 16 bytes. */
enum { TERN_STRIPES = 32 };

#define TERN_SEGMENT_MAGIC 0x746e656d67657331u

typedef struct tern_segment_header {
    uint64_t magic;
    uint64_t nonce;               /* that of the context */
    _Atomic uint32_t arena_parts; /* number of NUMA nodes on which the arena lies */
    tern_meeting meeting;         /* used on rank 0 only */
    tern_activity activity;
} tern_segment_header;

/* How far a remote target has consumed a ring. A network may write a word in pieces, so position
 * counts only if complement matches it. Reports by message use the word told, since an old message
 * may come after a newer put. */
typedef struct tern_credit {
    _Atomic uint64_t position, complement;
    _Atomic uint64_t told;
} tern_credit;

/* The header of a ring: one cache line in the target's segment. */
typedef struct tern_ring_header {
    _Alignas(TERN_LINE) _Atomic uint64_t owner; /* origin's worker number + 1; 0: free */
    _Atomic uint64_t consumed; /* written by the target; an origin of its node reads it for room */
    _Atomic uint64_t idle;     /* written by the target: 1 if it waits for the doorbell */
    _Atomic uint64_t published[2]; /* by a remote origin with TERN_RMA_COMMIT=flush: {p, ~p} */
    _Atomic uint64_t bytes;        /* size of the ring */
} tern_ring_header;

/* The channels of a pair. Progress consumes the rings of calls; the application's probes
 * (rma/notify/event.c) consume those of notifications. */
enum { TERN_CHANNEL_CALLS, TERN_CHANNEL_NOTIFY, TERN_CHANNELS };

/* A cell for a reply (rma/reply/reply.h). In shared memory the sequence word is written last. Over
 * rma the whole image is one put, whose words may come in any order: then the sequence has the bit
 * TERN_REPLY_CHECKED, and check, XXH3 over the rest seeded with the context's nonce, shows whether
 * all of the image has come. */
#define TERN_REPLY_CHECKED (UINT64_C(1) << 63)

typedef struct tern_cell {
    _Alignas(TERN_LINE) _Atomic uint64_t sequence;
    uint64_t check; /* with TERN_REPLY_CHECKED only */
    uint32_t status;
    uint32_t bytes;
    char payload[TERN_RESULT_MAX];
} tern_cell;

/* What ranks of the node read about a region; it lies in the owner's segment. All zero: the slot
 * was never used. */
typedef struct tern_region {
    _Atomic uint64_t state; /* see region.c */
    _Atomic uint64_t base;  /* address in the owner's process */
    _Atomic uint64_t bytes;
} tern_region;

/* Offsets in bytes from the start of the segment. Those marked "worker" count from the start of a
 * worker page. */
typedef struct tern_layout {
    size_t worker_pages, worker_page_bytes;
    /* By endpoint index, which numbers the channels of all workers of the job. */
    size_t doorbells; /* worker: _Atomic uint64_t[], a bit per endpoint */
    size_t table;     /* worker: _Atomic uint64_t[], the ring from each endpoint: index + 1, or 0 */
    size_t credits;   /* worker: tern_credit[], how far the target at each endpoint has consumed */
    size_t cells;     /* worker: tern_cell[TERN_CALL_REQUESTS] */
    size_t rings, ring_count;
    size_t regions;   /* tern_region[TERN_REGIONS_MAX] */
    size_t places;    /* uint32_t[]: the node of each rank, then the machine of each rank */
    size_t listeners; /* tern_listener_address[], by rank; like places, on the node's lowest rank */
    size_t stripes;   /* tern_line[TERN_STRIPES] */
    size_t arena, ring_bytes;
    size_t heap, heap_bytes;
    size_t bytes;
} tern_layout;

void tern_layout_compute(const tern_config *config, uint32_t ranks, tern_layout *layout);

/* The mapping of a rank's segment. base NULL: the rank is of another node. */
typedef struct tern_segment {
    char *base;       /* a multiple of page, and of 2 MiB */
    size_t bytes;     /* a multiple of page */
    size_t page;      /* of the mapping: TERN_PAGE, 2 MiB or 1 GiB */
    bool transparent; /* the kernel may join ordinary pages of the heap to 2 MiB */
} tern_segment;

/* Makes this rank's segment from the pages that config asks for, or from the next smaller ones that
 * the system has, and logs in one line which it got. [out] fd: the descriptor to share it by, which
 * belongs to the caller. */
tern_status tern_segment_create(const tern_config *config, const tern_layout *layout,
                                tern_segment *segment, int *fd);

/* The heap is cut into parts at the ends of pages, since a page lies on one NUMA node. It has at
 * most wanted parts, and fewer if it has fewer pages. tern_segment_parts: the number of parts.
 * tern_segment_cut: the offset in the heap where part index begins; heap_bytes for index ==
 * parts. */
size_t tern_segment_parts(const tern_layout *layout, size_t page, size_t wanted);
size_t tern_segment_cut(const tern_layout *layout, size_t page, size_t parts, size_t index);

/* The arena is cut between pieces, into at most wanted parts, but no more than it has pieces.
 * tern_segment_arena_cut: the first ring of part index. */
size_t tern_segment_arena_parts(const tern_layout *layout, size_t wanted);
size_t tern_segment_arena_cut(const tern_layout *layout, size_t parts, size_t index);

/* Touches the heap if config says so. */
void tern_segment_prefault(const tern_config *config, const tern_layout *layout,
                           const tern_segment *segment);

/* Maps the segment of another rank of the node. The caller keeps fd. */
tern_status tern_segment_map(const tern_config *config, const tern_layout *layout, int fd,
                             tern_segment *segment);
void tern_segment_destroy(tern_segment *segment);

/* Collective: gives fd to every rank of the node (nothing if fd is -1) and takes theirs. The caller
 * sets all fds to -1. Afterwards fds[r] is the descriptor from rank r of this node, if it gave one;
 * the others, and the caller's own, are still -1. */
tern_status tern_segment_share(tern_context *context, int fd, int *fds);

#endif
