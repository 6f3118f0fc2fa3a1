#include "base/error.h"
#include "rma/memory/doorbell.h"
#include "rma/notify/request.h"
#include "rma/memory/state.h"
#include "src/context.h"
#include "src/profile/trace.h"
#include "src/progress/wait.h"

/*
 * Probing for events. Hot path: looks at the queue of local events, then once at each active ring,
 * and touches a record's own lines. It makes no system call, takes no lock, allocates nothing, and
 * makes no progress if it finds an event. Guarded by `tern-bench notify`.
 */

enum {
    BURST = 64,        /* events in a row from one ring before the others have their turn */
    STREAK = 64,       /* events in a row that count as a stream */
    VAIN_PROBES = 4,   /* this many in a row end a stream */
    PAUSES = 64u,      /* calls of tern_relax after a stream (follow_stream); doubled each time */
    STREAMS_MOST = 3u, /* the stream goes on, but at most this many times */
    ROUNDS = 32u,      /* vain probes for one round of progress if nothing is urgent */
};

/* The content of a record; each number was read once and checked. */
typedef struct notice {
    const char *cid, *data;
    size_t cid_bytes;
    uint64_t bytes, offset;
    unsigned type;
} notice;

/* Reads the record at the head of in. False: the record is malformed. */
static inline bool event_parse(const tern_notify *n, const tern_in *in, uint64_t header,
                               notice *r) {
    uint32_t id = tern_record_id(header);
    size_t room = tern_record_bytes(header), padding = id >> 9 & 7;
    r->type = id >> 12;
    r->cid_bytes = id & 0x1ff;
    size_t head = tern_words(r->cid_bytes) + (r->type == TERN_NOTICE_PURE ? 0 : 8);
    if (tern_record_kind(header) != TERN_RECORD_NOTIFY || !tern_ring_check(in, header) ||
        room % 8 != 0 || room < head || r->cid_bytes > TERN_CID_MAX)
        return false;
    const char *payload = tern_ring_payload(in);
    uint64_t word = 0;
    if (r->type != TERN_NOTICE_PURE)
        word = *(const volatile uint64_t *)(const void *)payload;
    r->cid = payload + (r->type == TERN_NOTICE_PURE ? 0 : 8);
    r->data = payload + head;
    if (r->type == TERN_NOTICE_PACKED) {
        r->bytes = room - head - padding;
        r->offset = word;
        return room - head > padding &&
               ((r->bytes <= n->heap_bytes && r->offset <= n->heap_bytes - r->bytes) ||
                tern_offset_may_be_in_region(r->offset));
    }
    r->bytes = word;
    return r->type <= TERN_NOTICE_GET && room == head && padding == 0;
}

/* Copies data to where the put goes. A word of 8 aligned bytes is stored as a whole. */
static inline void copy_small(void *to, const void *from, size_t bytes) {
    if (bytes == 8 && ((uintptr_t)to & 7) == 0)
        /* R10 */
        __atomic_store_n((uint64_t *)to, *(const uint64_t *)from, __ATOMIC_RELAXED);
    else
        tern_internal_copy(to, from, bytes);
}

/* Copies packed data into a region. TERN_ERR_RANGE: the region was deregistered after the put
 * began. */
static tern_status fill_region(const tern_worker *worker, const notice *r) {
    tern_hold hold;
    const tern_context *context = worker->context;
    tern_status status = tern_region_hold(context, context->rank, r->offset, r->bytes, &hold);
    if (status != TERN_OK)
        return status;
    copy_small(hold.address, r->data, r->bytes);
    tern_region_release(&hold);
    return TERN_OK;
}

/* Copies the packed data of a record to where the put goes, and fills event, except for the cid, to
 * which it returns a pointer. The record stays in the ring until event_leave. NULL: the record is
 * malformed, and the ring is closed. */
static inline const char *event_meet(tern_worker *worker, const tern_notify *n, tern_in *in,
                                     uint64_t header, tern_event *event) {
    notice r;
    if (__builtin_expect(!event_parse(n, in, header, &r), 0)) {
        tern_ring_refuse(worker, in, header,
                         "it is no valid notification, or its data lies outside the segment");
        return NULL;
    }
    event->kind = TERN_EVENT_REMOTE;
    event->status = TERN_OK;
    if (r.type == TERN_NOTICE_PACKED && __builtin_expect(tern_offset_in_region(r.offset), 0))
        event->status = fill_region(worker, &r);
    else if (r.type == TERN_NOTICE_PACKED)
        copy_small(n->heap + r.offset, r.data, r.bytes);
    event->peer = in->origin_id;
    event->local_cid = 0;
    event->bytes = r.bytes;
    event->is_get = r.type == TERN_NOTICE_GET;
    event->cid_bytes = (uint32_t)r.cid_bytes;
    return r.cid;
}

static inline void event_leave(tern_worker *worker, tern_in *in, uint64_t header) {
    tern_ring_advance(in, header);
    worker->stats.records_received++;
    if (__builtin_expect(in->position - in->reported > in->mask / 2, 0))
        tern_ring_report(worker, in);
}

static __attribute__((noinline)) void event_note(tern_worker *worker, const tern_in *in,
                                                 uint64_t position, uint64_t bytes) {
    tern_profile_note(worker, TERN_SPAN_NOTIFIED, in->origin_id.rank, bytes,
                      tern_arrow(TERN_CHANNEL_NOTIFY, in->origin, worker->id, position));
}

/* Stops polling the i-th active ring. */
static void drop_ring(tern_notify *n, tern_worker *worker, uint32_t i) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    n->ring[i]->active = false;
    n->ring[i] = n->ring[--mine->active[TERN_CHANNEL_NOTIFY].count];
}

/* Finds a ring with a notification at its head; NULL: no ring has one. Begins with the ring where
 * the last notification was found, unless it has had its turn (BURST). [out] header. */
static inline tern_in *event_find(tern_worker *worker, tern_notify *n, uint64_t *header) {
    uint32_t count = (uint32_t)*n->rings;
    for (uint32_t looked = 0; looked < count;) {
        if (__builtin_expect(n->at >= count, 0))
            n->at = 0;
        tern_in *in = n->ring[n->at];
        uint64_t head = tern_ring_peek(worker, in);
        if (__builtin_expect(head != 0 && tern_record_kind(head) != TERN_RECORD_NOTIFY, 0) &&
            tern_ring_pass(worker, in, head))
            continue;
        if (head != 0 && (n->burst < BURST || count == 1)) {
            n->burst++;
            *header = head;
            return in;
        }
        n->burst = 0;
        n->at++;
        looked += head == 0; /* a ring with more events that lost its turn is looked at again */
    }
    return NULL;
}

/* Takes the next local event from the queue. False: the queue is empty. */
static inline bool next_local(tern_worker *worker, tern_notify *n, tern_event *event) {
    if (n->done_head == n->done_tail)
        return false;
    const tern_done *d = &n->done[n->done_head++ & n->done_mask];
    event->kind = TERN_EVENT_LOCAL;
    event->status = (tern_status)d->status;
    event->peer = (tern_worker_id){d->target / worker->context->workers,
                                   d->target % worker->context->workers};
    event->local_cid = d->cid;
    event->bytes = d->bytes;
    event->is_get = d->is_get;
    event->cid_bytes = 0;
    return true;
}

/* Takes the next notification from the rings. False: no ring has one, or it was malformed. */
static inline bool next_remote(tern_worker *worker, tern_notify *n, tern_event *event) {
    uint64_t header = 0;
    tern_in *in = event_find(worker, n, &header);
    if (in == NULL)
        return false;
    const char *cid = event_meet(worker, n, in, header, event);
    if (__builtin_expect(cid == NULL, 0)) {
        drop_ring(n, worker, n->at);
        return false;
    }
    if (event->cid_bytes == 8)
        memcpy(event->cid, cid, 8);
    else
        memcpy(event->cid, cid, event->cid_bytes);
    const uint64_t position = in->position;
    event_leave(worker, in, header);
    n->streak++;
    if (__builtin_expect(n->profiled, 0))
        event_note(worker, in, position, event->bytes);
    return true;
}

/* Tells the credit that is due to the origins of all rings of notifications, and stops polling
 * rings that have long been empty. */
static void tend_rings(tern_worker *worker, tern_notify *n) {
    for (uint32_t i = 0; i < *n->rings; i++) {
        tern_in *in = n->ring[i];
        if (tern_ring_peek(worker, in) != 0) {
            in->empty = 0;
            continue;
        }
        /* Credit may still be due: a transport had no room for it, or only skipped bytes were
         * consumed. */
        tern_ring_report(worker, in);
        if (tern_ring_rest(worker, in, *n->rings))
            drop_ring(n, worker, i--);
    }
}

/* Called after a vain probe: pauses after a stream of events. A consumer close behind the producer
 * makes a cache line travel once for each record in it. So the consumer leaves the rings alone for
 * a moment, longer each time the stream goes on. A consumer that has caught up finds a record or
 * two between two vain probes; that is a stream, too, the slowest kind. The answer to a question
 * takes longer than VAIN_PROBES vain probes, so questions and answers do not count as a stream. */
static void follow_stream(tern_notify *n) {
    if (n->streak >= (uint32_t)STREAK) {
        n->streak = n->streak_seen = 0;
        for (uint32_t i = 0; i < (uint32_t)PAUSES << n->streams; i++)
            tern_relax();
        n->streams += n->streams < STREAMS_MOST;
        n->vain = 0;
    } else if (n->streak != n->streak_seen) {
        n->streak_seen = n->streak;
        n->vain = 0;
    } else if (n->vain < VAIN_PROBES && ++n->vain == VAIN_PROBES) {
        n->streak = n->streak_seen = 0;
        n->streams = 0;
    }
}

/* Called when a probe found nothing: makes progress. A round of progress costs more than a look at
 * the rings, so while no doorbell has rung and no request waits, only one vain probe in ROUNDS
 * makes a round. But if records come from other nodes, each vain probe polls that transport. */
static void event_stir(tern_worker *worker, tern_notify *n) {
    if (n->streak != n->streak_seen)
        worker->vain = 0;
    follow_stream(n);
    if (worker->in_progress)
        return;
    tern_look_vainly(worker);
    uint32_t miss = n->misses++;
    const _Atomic uint64_t *rung = (const void *)tern_rma_worker_of(worker)->worker_page;
    const tern_transport_ops *remote = tern_rma_of(worker->context)->remote;
    /* R4 */
    bool urgent = n->waiting != NULL || atomic_load_explicit(rung, memory_order_relaxed) != 0;
    if (urgent || miss % ROUNDS == 0)
        (void)tern_progress_round(worker);
    else if (remote != NULL)
        (void)remote->poll(worker);
    if (miss % ROUNDS == 0)
        tend_rings(worker, n);
}

static tern_status event_check(const tern_worker *worker, unsigned which, const void *pointer) {
    if (worker == NULL || pointer == NULL || which == 0 || which > TERN_PROBE_ANY)
        return tern_fail(TERN_ERR_ARGUMENT,
                         "a probe for events %#x: an argument is NULL, or the events are not "
                         "TERN_PROBE_LOCAL, TERN_PROBE_REMOTE or TERN_PROBE_ANY",
                         which);
    if (tern_is_destroyed(worker->context))
        return tern_destroyed_fail("a probe");
    if (tern_notify_of(worker)->in_handler)
        return tern_fail(TERN_ERR_STATE, "probing is not allowed inside a handler of events; probe "
                                         "after the handler has returned");
    return TERN_OK;
}

static inline bool event_next(tern_worker *worker, tern_notify *n, unsigned which,
                              tern_event *event) {
    return ((which & TERN_PROBE_LOCAL) != 0 && next_local(worker, n, event)) ||
           ((which & TERN_PROBE_REMOTE) != 0 && next_remote(worker, n, event));
}

static __attribute__((noinline)) tern_status probe_again(tern_worker *worker, unsigned which,
                                                         tern_event *event) {
    tern_notify *n = tern_notify_of(worker);
    event_stir(worker, n);
    return event_next(worker, n, which, event) ? TERN_OK : TERN_ERR_EMPTY;
}

tern_status tern_probe(tern_worker *worker, unsigned which, tern_event *event) {
    if (__builtin_expect(worker == NULL || event == NULL || which - 1 > 2 ||
                             tern_notify_of(worker)->in_handler,
                         0))
        return event_check(worker, which, event);
    if (event_next(worker, tern_notify_of(worker), which, event))
        return TERN_OK;
    return probe_again(worker, which, event);
}

tern_status tern_event_wait(tern_worker *worker, unsigned which, tern_event *event) {
    tern_status status = event_check(worker, which, event);
    if (status == TERN_OK)
        status = tern_worker_may_wait(worker, "tern_event_wait");
    tern_wait_state wait = TERN_WAIT_FOR(
        which == TERN_EVENT_LOCAL
            ? "a local event, with any completion id"
            : (which == TERN_EVENT_REMOTE ? "a remote event, with any completion id"
                                          : "an event, local or remote, with any completion id"),
        NULL, UINT64_MAX);
    while (status == TERN_OK) {
        status = tern_probe(worker, which, event);
        if (status != TERN_ERR_EMPTY)
            return status;
        status = tern_wait_step(worker->context, &wait, TERN_ANYBODY);
    }
    return status;
}

/* Hands events of one ring to the handler, until the ring is empty or limit is reached. */
static size_t hand_out(tern_worker *worker, tern_notify *n, tern_in *in, uint64_t header,
                       tern_event_handler handler, void *argument, size_t limit) {
    tern_event event;
    size_t count = 0;
    while (count < limit) {
        const char *cid = event_meet(worker, n, in, header, &event);
        if (cid == NULL) {
            drop_ring(n, worker, n->at);
            break;
        }
        handler(worker, &event, cid, argument);
        const uint64_t position = in->position;
        event_leave(worker, in, header);
        if (__builtin_expect(n->profiled, 0))
            event_note(worker, in, position, event.bytes);
        count++;
        header = tern_ring_peek(worker, in);
        if (tern_record_kind(header) != TERN_RECORD_NOTIFY)
            break;
    }
    n->streak += (uint32_t)count;
    return count;
}

/* Hands events to the handler, local ones first, until limit is reached or none are left. */
static size_t hand_out_all(tern_worker *worker, unsigned which, tern_event_handler handler,
                           void *argument, size_t limit) {
    tern_notify *n = tern_notify_of(worker);
    tern_event event;
    uint64_t header = 0;
    size_t count = 0;
    while (count < limit && (which & TERN_PROBE_LOCAL) != 0 && next_local(worker, n, &event)) {
        handler(worker, &event, event.cid, argument);
        count++;
    }
    tern_in *in;
    while (count < limit && (which & TERN_PROBE_REMOTE) != 0 &&
           (in = event_find(worker, n, &header)) != NULL) {
        size_t most = *n->rings == 1 || limit - count < BURST ? limit - count : BURST;
        count += hand_out(worker, n, in, header, handler, argument, most);
        n->burst = BURST; /* the next ring has its turn */
    }
    return count;
}

tern_status tern_probe_each(tern_worker *worker, unsigned which, tern_event_handler handler,
                            void *argument, size_t limit, size_t *handled) {
    tern_status status = event_check(worker, which, (const void *)(uintptr_t)handler);
    if (status != TERN_OK)
        return status;
    tern_notify *n = tern_notify_of(worker);
    for (int look = 0; look < 2; look++) {
        /* Inside the handler, functions that wait are refused, and calls that would wait are
         * queued. */
        bool in_handler = worker->in_handler, in_progress = worker->in_progress;
        worker->thread = tern_thread_self();
        n->in_handler = worker->in_handler = worker->in_progress = true;
        size_t count = hand_out_all(worker, which, handler, argument, limit);
        worker->in_handler = in_handler;
        worker->in_progress = in_progress;
        n->in_handler = false;
        if (handled != NULL)
            *handled = count;
        if (count > 0 || look == 1)
            break;
        event_stir(worker, n);
    }
    return TERN_OK;
}
