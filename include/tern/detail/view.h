#ifndef TERN_DETAIL_VIEW_H
#define TERN_DETAIL_VIEW_H

/*
 * Not for applications: the members of a worker that the inlined operations of transfer.h and
 * call.h read and write, and the short path into a ring of shared memory (rma/ring/ring.h says why
 * it is correct).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of a rank. */
typedef struct tern_reach {
    char *base;     /* address of offset TERN_PTR_ORIGIN, or NULL: load/store does not reach it */
    uint64_t bytes; /* of the heap; 0 if load/store does not reach it */
} tern_reach;

/* The origin's side of a ring: everything that the short path needs to send a record, in one cache
 * line. */
typedef struct tern_lane {
    char *data;           /* the ring itself, or the staging memory of a ring on another node */
    uint64_t mask;        /* size - 1 */
    uint64_t write;       /* position of the next record */
    uint64_t limit;       /* below this position there is room without a wrap, and the short path is
                             open; 0: it is closed */
    const uint64_t *idle; /* the target's mark that it waits for the doorbell */
    uint64_t first;       /* position of the first unpublished record */
    uint64_t first_header; /* the header of that record, which is withheld until it is published; 0:
                              all records are published */
    uint64_t gather;       /* how many bytes are gathered before they are published; 0: each record
                              is published at once */
} tern_lane;

/* The first member of a worker, in one cache line. */
typedef struct tern_worker_view {
    const tern_reach *reach; /* by rank */
    uint32_t ranks;
    uint32_t inlined;         /* ranks; or 0: the library makes all transfers (TERN_STATS) */
    uint32_t workers;         /* of each rank */
    uint32_t unsent;          /* not 0: something may wait here to be sent, so a flush has to look
                                 for it */
    struct tern_out **out;    /* by worker number; each begins with its tern_lane, or is NULL */
    const uint64_t *function; /* by a function's id: the header of its records, or 0 */
    uint32_t functions;       /* the context knows the functions with ids below this one */
    uint32_t direct_domains;  /* bit d: the processor's atomics serve domain d */
    uint64_t *calls_sent;
    uint32_t reserved; /* 1 + number of the worker to which a call is being built in place
                          (tern/call_in_place.h); 0: none */
    bool in_progress;  /* tern_progress is never re-entered */
    bool in_handler;   /* a handler runs: functions that wait are refused */
} tern_worker_view;

/* How many bytes ahead cache lines are prefetched; measured with `tern-bench call`. */
#define TERN_LANE_AHEAD 1024u
#define TERN_LANE_LINE 64u

/* Prefetches, for exclusive use, a cache line that will be written soon. The lines ahead lie in the
 * consumer's cache; stores leave a processor in order, and a few stores that wait for their lines
 * are enough to stop it. (__builtin_prefetch for writing asks only for a copy unless the compiler
 * is told of the processor.) */
TERN_INLINE void tern_own_line(const char *line) {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Returns where to write a record of size bytes, header included, a multiple of 8; NULL: the short
 * path is closed. The word behind the record is free too, for the zero that ends the ring's
 * content.
 */
TERN_INLINE char *tern_lane_reserve(const tern_lane *lane, uint64_t size) {
    if (__builtin_expect(lane->write + size + 8 > lane->limit, 0))
        return NULL;
    return lane->data + (lane->write & lane->mask);
}

/* Commits the reserved record, which is filled except for its header, and publishes it, unless the
 * lane gathers. A gathering lane withholds the header of the first record of a run; the headers of
 * the others lie behind the zero at which the consumer stops. Nonzero: the caller must call
 * tern_ring_attend, which rings the doorbell or notes a new run. The release store pairs with the
 * consumer's acquire load of the header; the mark may be read early (tern_ring_publish_direct). */
TERN_INLINE int tern_lane_send(tern_lane *lane, char *record, uint64_t size, uint64_t header) {
    uint64_t at = lane->write, next = at + size;
    /* Do not prefetch lines that the consumer still has to read. */
    if (at + TERN_LANE_AHEAD < lane->limit)
        for (uint64_t line = 0; line < size; line += TERN_LANE_LINE)
            tern_own_line(lane->data + ((at + TERN_LANE_AHEAD + line) & lane->mask));
    /* R9: tern_lane_send; before its release store */
    __atomic_store_n((uint64_t *)(void *)(lane->data + (next & lane->mask)), 0, __ATOMIC_RELAXED);
    lane->write = next;
    if (lane->first_header != 0) {
        /* R9: tern_lane_send */
        __atomic_store_n((uint64_t *)(void *)record, header, __ATOMIC_RELAXED);
        if (next - lane->first < lane->gather)
            return 0;
        record = lane->data + (lane->first & lane->mask);
        header = lane->first_header;
        lane->first_header = 0;
    } else if (size < lane->gather) {
        lane->first = at;
        lane->first_header = header;
        return 1;
    }
    /* R1: tern_ring_peek */
    __atomic_store_n((uint64_t *)(void *)record, header, __ATOMIC_RELEASE);
    /* R3: may_sleep; the mark may be read early, since its membarrier comes between */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(lane->idle, __ATOMIC_RELAXED) != 0;
}

#ifdef __cplusplus
}
#endif

#endif
