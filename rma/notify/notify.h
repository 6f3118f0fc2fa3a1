#ifndef TERN_RMA_NOTIFY_NOTIFY_H
#define TERN_RMA_NOTIFY_NOTIFY_H

/*
 * The inside of notifications (tern/notify.h). Each pair of workers has a ring of its own for them
 * (TERN_CHANNEL_NOTIFY), whose records only probes consume. So an event that the program does not
 * probe for delays only the events behind it, and takes no memory besides the ring.
 *
 * A record, in words of 8 bytes; its header's id is {cid bytes:9, padding of the data:3, type:12}:
 *
 *     header | cid ...                    pure
 *     header | offset | cid ... | data ... packed; offset counts from the start of the heap
 *     header | bytes | cid ...            ledger put and get: the data has moved already
 *
 * With 8 bytes of data and a cid of 8 that is half a cache line.
 */

#include "rma/message/message.h"
#include "rma/ring/ring.h"
#include "rma/rows/rows.h"
#include "tern/notify.h"

enum { TERN_NOTICE_PURE, TERN_NOTICE_PACKED, TERN_NOTICE_PUT, TERN_NOTICE_GET };

/* A local event that the program has not probed for. A worker has one queue of them for all
 * targets. */
typedef struct tern_done {
    uint64_t cid, bytes;
    uint32_t target; /* worker number */
    uint16_t status, is_get;
} tern_done;

/* The layer's state of a worker; only the worker's thread writes it. */
typedef struct tern_notify {
    /* The fields that a packed put over shm reads. */
    tern_out **out; /* by worker number */
    const tern_reach *reach;
    uint32_t size, workers;
    uint32_t short_ranks; /* size; or 0: the short paths are shut (src/profile/profile.h) */
    uint64_t packed_direct, packed_remote; /* the largest packed data */
    /* The queue of local events holds positions [done_head, done_tail), which only grow.
     * done_reserved counts the local events that waiting requests will queue. The worker accepts an
     * operation with a local event only while queued and reserved events are fewer than done_room,
     * which is at most TERN_NOTIFY_EVENTS. */
    uint64_t done_head, done_tail, done_reserved, done_room, done_mask;
    tern_done *done;
    /* Probing. */
    tern_in **ring; /* the active rings of notifications */
    const size_t *rings;
    uint32_t at, burst;         /* the ring to look at first; events in a row from it */
    uint32_t streak;            /* events since the last stream was left alone or ended */
    uint32_t streak_seen, vain; /* streak at the last vain probe; vain probes in a row */
    uint32_t streams;           /* pauses since a stream last ended */
    uint32_t misses;            /* vain probes */
    bool in_handler;            /* true inside a handler of tern_probe_each */
    bool relaxed;               /* TERN_ORDER=relaxed */
    bool profiled;              /* the worker has a profile */
    char *heap;                 /* this rank's */
    uint64_t heap_bytes;
    tern_out *waiting;                  /* rings with requests that wait (rma/notify/request.h) */
    struct tern_rendezvous *rendezvous; /* NULL: none yet (rma/notify/rendezvous.c) */
} tern_notify;

/* layer.c */
extern const tern_layer tern_notify_layer;

static inline tern_notify *tern_notify_of(const tern_worker *worker) {
    return worker->layer[TERN_LAYER_NOTIFY];
}

/* notify.c: begins a notified transfer of rows, which the caller has checked. function: the public
 * function, for texts. Returns the same errors as
 * tern_put_strided_notify. */
tern_status tern_notify_rows(tern_worker *worker, const char *function, tern_worker_id other,
                             const tern_rows *rows, const tern_notify_options *options);

static inline size_t tern_words(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static inline uint64_t tern_notice_header(unsigned type, size_t cid_bytes, size_t padding,
                                          size_t record_bytes) {
    uint32_t id = (uint32_t)cid_bytes | (uint32_t)padding << 9 | (uint32_t)type << 12;
    return tern_record_header(TERN_RECORD_NOTIFY, id, record_bytes);
}

/* Adds a local event. The caller has checked or reserved room for it. */
static inline void tern_done_push(tern_notify *n, uint32_t target, uint64_t cid, uint64_t bytes,
                                  bool is_get, tern_status status) {
    n->done[n->done_tail++ & n->done_mask] =
        (tern_done){cid, bytes, target, (uint16_t)status, is_get};
}

/* Doubles the queue of local events if it is full and the limit allows. TERN_ERR_AGAIN: the limit
 * is reached; TERN_ERR_MEMORY. */
tern_status tern_done_make_room(tern_worker *worker);

static inline bool tern_done_has_room(const tern_notify *n) {
    return n->done_tail - n->done_head + n->done_reserved < n->done_room;
}

#endif
