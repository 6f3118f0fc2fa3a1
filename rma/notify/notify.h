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
#include "tern/collective.h"
#include "tern/notify.h"

enum { TERN_NOTICE_PURE, TERN_NOTICE_PACKED, TERN_NOTICE_PUT, TERN_NOTICE_GET };

/* Kinds of collectives (rma/notify/collectives.h). */
enum {
    TERN_NOTIFY_BARRIER,
    TERN_NOTIFY_BROADCAST,
    TERN_NOTIFY_ALLREDUCE, /* + type * TERN_REDUCTIONS + operation */
    TERN_REDUCTIONS = TERN_REDUCE_MAX + 1,
    TERN_NOTIFY_KINDS = TERN_NOTIFY_ALLREDUCE + (TERN_DOUBLE + 1) * TERN_REDUCTIONS
};

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
    /* Collectives (rma/notify/collectives.h). */
    uint64_t sequence;   /* number of the collective that the worker is in */
    uint32_t kind;       /* TERN_NOTIFY_*, of the collective that the worker is in */
    size_t bytes;        /* of its vector */
    size_t fragment_max; /* the most bytes of a fragment */
    uint64_t hailed;     /* ns: when the worker last sent a hail in this wait; 0: not yet */
    /* called_to: 1 + the number of the latest meeting to which a rank has called all ranks. met_by:
     * 1 + the number of the latest meeting in which a rank waits. Both only grow; the thread that
     * serves a message writes them, with the MPI lock held. */
    _Atomic uint64_t called_to, met_by;
    char *spare;         /* memory for fragments of this collective, used when malloc fails */
    uint32_t spare_used; /* a bit for each piece of spare */
    uint64_t failures;   /* bit n: the collective that ended n before the last one has failed */
    struct tern_notified_fragment *fragments; /* fragments that came before they were waited for */
    struct tern_notified_stream *awaited;     /* streams that the worker waits for */
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

/* Fragments of collectives: records that progress consumes (rma/notify/collectives.h). */
size_t tern_collectives_consume(tern_worker *worker, tern_in *in);
void tern_collectives_open(tern_worker *worker);
void tern_collectives_discard(tern_worker *worker);

/* Serves a message that tells of a meeting; the MPI lock is held. False: the message is
 * malformed. */
bool tern_collectives_told(tern_context *context, const tern_message *message);

/* Answers the hails of ranks that wait for this worker in a collective: tells them that the worker
 * waits in a meeting instead, or that the collective has failed on it. Hails to which neither
 * applies are kept. Returns how many it answered. */
size_t tern_collectives_answer(tern_worker *worker);

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
