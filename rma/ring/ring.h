#ifndef TERN_RMA_RING_RING_H
#define TERN_RMA_RING_RING_H

/*
 * A ring carries records from one worker to another: single producer, single consumer, strictly
 * FIFO (design 6). The records lie in the target's arena; an origin of another node also keeps a
 * staging copy of the same shape. A pair of workers has one ring for each channel: the records of
 * calls, which progress consumes, must not wait behind notifications, which stay in their ring
 * until the application probes for them.
 *
 * Record: an 8-byte header {kind:8, id:24, bytes:32} and the payload, padded to 8 bytes. Positions
 * are 64-bit, only grow, and are compared by difference; position p lies at p modulo the ring's
 * size. A record never wraps.
 *
 * The header itself tells whether a record is valid, so that a poll touches one cache line. A
 * header is never zero, and before a producer publishes a header it sets the word where the next
 * header will lie to zero. So the consumer meets either a published header or zero, never an old
 * header. The producer publishes several records together: it withholds the header of the first
 * one, and then stores it with release. The store pairs with the consumer's acquire load of that
 * header, and everything written before it is visible with it. MPI promises no order of puts, so
 * over rma the records that are published together form a frame with a checksum
 * (rma/ring/frame.h). The consumer reads only up to tern_in.limit, the end of the last valid frame.
 *
 * Hot path: reserve and publish over shm make no system call, take no lock, allocate nothing, and
 * touch the record's lines, the producer's own tern_out and the ring's header line, which changes
 * only when the consumer reports half a ring or goes idle. Guarded by `tern-bench call`.
 */

#include <stdatomic.h>
#include <string.h>

#include "rma/memory/state.h"
#include "rma/port/question.h"
#include "src/context.h"
#include "tern/detail/view.h"

static inline uint64_t tern_record_header(unsigned kind, uint32_t id, size_t bytes) {
    return (uint64_t)kind | (uint64_t)id << 8 | (uint64_t)bytes << 32;
}

static inline unsigned tern_record_kind(uint64_t header) { return (unsigned)(header & 0xff); }

static inline uint32_t tern_record_id(uint64_t header) {
    return (uint32_t)(header >> 8) & 0xffffff;
}

static inline size_t tern_record_bytes(uint64_t header) { return (size_t)(header >> 32); }

/* How many bytes of the ring a record with a payload of that many bytes takes. */
static inline uint64_t tern_record_size(size_t bytes) {
    return 8 + (((uint64_t)bytes + 7) & ~(uint64_t)7);
}

/* The target stores this in place of the consumed position when it has met a malformed record and
 * reads no further record of the ring. No position has this value. */
#define TERN_CONSUMED_NEVER UINT64_MAX

/* How far the replacement of a ring by a larger one has come (rma/ring/growth.c). */
enum { TERN_GROWTH_NONE, TERN_GROWTH_ASKED, TERN_GROWTH_MOVING };

/* The origin's side of a ring. */
typedef struct tern_out {
    _Alignas(TERN_LINE) tern_lane lane; /* first: see tern/detail/view.h */
    uint64_t limit;                     /* the origin may write up to here */
    uint64_t looked;                    /* lane.write at the last round of progress */
    tern_ring_header *header; /* direct rings only: the ring's line in the target's segment */
    const tern_transport_ops *transport; /* of records; tern_transport_to gives that of data */
    struct tern_out *next;               /* in the list of the worker's rings */
    struct tern_out *next_pending;       /* in the list of rings that progress is to publish */
    bool direct;                         /* lane.data is the ring itself, not a copy */
    bool pending, opening, lent; /* listed for progress; being opened; lent to another thread */
    bool damaged;                /* another rank overwrote its records (rma/reply/answer.h) */
    uint8_t policy;              /* tern_publish; lane.gather is its threshold */
    bool held;                   /* the short path is shut: earlier records still wait elsewhere */
    uint32_t channel;
    uint32_t origin, target; /* worker numbers */
    uint32_t ring;           /* index in the target's arena */
    bool frame_open;         /* rma: a frame is open, and records are added to it */
    uint64_t frame;          /* position of its header */
    uint32_t frame_skip;     /* bytes that the target skips after the frame */
    uint64_t published[2];   /* the words that TERN_RMA_COMMIT=flush puts */
    _Atomic uint64_t told;   /* remote rings: published up to here */
    _Atomic uint32_t asleep; /* rma/ring/sleep.h */
    bool wake_due;           /* a WAKE could not be sent, as no buffer was free; send it again */
    uint64_t generation;     /* of the staging memory; puts of earlier ones are complete */
    int64_t open_reply[2];   /* remote rings: the target's answer to the opening */
    tern_question open_question;
    uint8_t growth;                 /* TERN_GROWTH_* */
    uint32_t grow_wait;             /* ask again after finding the ring full this many times */
    uint32_t next_ring;             /* index of the larger ring */
    char *next_data;                /* remote rings: staging memory of the larger ring */
    struct tern_requests *requests; /* notified operations that wait (rma/notify/request.h) */
    _Atomic uint64_t wanted; /* 1 + index of the ring that the target wants back (reclaim.h) */
    struct tern_out *next_wanted;
    uint32_t message_frames_sent; /* frames since the pair asked for a ring (message_channel.h) */
} tern_out;

/* The target's side of a ring. The rank's tables have memory for one tern_in for each ring of the
 * arena, so a rank whose malloc fails can still accept every ring. */
typedef struct tern_in {
    _Alignas(TERN_LINE) char *data;
    uint64_t mask;
    uint64_t position; /* of the next record to consume */
    uint64_t limit;    /* rma: end of the validated records; otherwise UINT64_MAX */
    uint64_t reported; /* consumed position that the origin was last told */
    uint32_t empty;    /* polls in a row that found nothing */
    uint32_t channel;
    uint32_t ring;   /* index of its first piece in the arena */
    uint32_t origin; /* worker number */
    tern_worker_id origin_id;
    bool active, closed, is_allocated;
    bool ending;    /* the origin has ended it; a message channel follows (reclaim.h) */
    bool streaming; /* direct ring of another worker; not corked; the last poll found records */
    tern_ring_header *header;
    const tern_transport_ops *transport;
    uint64_t skip;       /* rma: bytes to skip when position reaches limit */
    uint32_t left;       /* rma: the ring before it grew; kept until the new one brings a frame */
    uint64_t left_bytes; /* size of the ring `left`; 0: no ring is kept */
    struct tern_posting *credit; /* the credit that was last put over a network; or NULL */
    uint32_t sleep;              /* TERN_SLEEP_*, rma/ring/sleep.h */
    uint64_t sleep_at;           /* TERN_SLEEP_ALLOWED: may sleep from this position on */
    struct tern_sleep_ask *ask;  /* TERN_SLEEP_ASKED */
    struct tern_in *next;        /* in the list of the worker's rings */
    uint64_t seen;               /* the position at which reclaim.c last saw it */
    uint64_t seen_frames;        /* message_frames of its process at that time (reclaim.h) */
} tern_in;

_Static_assert(sizeof(tern_in) == TERN_IN_BYTES, "the tables have room for it");

/* Registers the function that consumes records of a kind. Called only while the context is being
 * created. */
void tern_record_handle(tern_context *context, unsigned kind, tern_record_handler handler);

static inline _Atomic uint64_t *tern_ring_word(char *data, uint64_t mask, uint64_t position) {
    return (_Atomic uint64_t *)(void *)(data + (position & mask));
}

static inline _Atomic uint64_t *tern_out_word(const tern_out *out, uint64_t position) {
    return tern_ring_word(out->lane.data, out->lane.mask, position);
}

/* Completes the reserved record, which becomes visible with the next publish. In a direct ring the
 * header of the first unpublished record is withheld until then; staging memory takes it at once.
 * Relaxed stores: the release store of the publish orders them. */
static inline void tern_ring_commit(tern_out *out, uint64_t header) {
    uint64_t at = out->lane.write, next = at + tern_record_size(tern_record_bytes(header));
    bool direct = out->direct;
    if (direct)
        /* R9: tern_ring_publish_direct; before its release store */
        atomic_store_explicit(tern_out_word(out, next), 0, memory_order_relaxed);
    if (!direct || out->lane.first_header != 0)
        atomic_store_explicit(tern_out_word(out, at), header, memory_order_relaxed);
    if (out->lane.first_header == 0) {
        out->lane.first = at;
        out->lane.first_header = header;
    }
    out->lane.write = next;
}

/* Whether the worker builds a call in place that goes to this ring's target. Then nothing is
 * written to the ring and nothing of it is published until the call is committed or cancelled
 * (rpc/call/in_place.h). A ring that is lent is not the place of that call, and goes on. */
static inline bool tern_ring_is_reserved(const tern_worker *worker, const tern_out *out) {
    return worker->view.reserved == out->target + 1 && out->channel == TERN_CHANNEL_CALLS &&
           !out->lent;
}

/* Gives back what tern_ring_try has reserved and nobody has committed. */
void tern_ring_unreserve(tern_worker *worker, tern_out *out);

/* Publishes the committed records if they reach the ring's threshold (lane.gather); otherwise
 * leaves them to progress. */
void tern_ring_publish_due(tern_worker *worker, tern_out *out);

/* Called after the short path has committed or published records: tells progress that there are
 * unpublished records, or rings the target's doorbell if they were published. */
void tern_ring_attend(tern_worker *worker, tern_out *out);

/* These three publish records that were gathered and records for which a transport had no room:
 * _all those for all targets, _to those for one rank. Progress uses _pending, which skips rings
 * that are still below their threshold and got new records since the last round. */
void tern_ring_publish_all(tern_worker *worker);
void tern_ring_publish_to(tern_worker *worker, uint32_t rank);
void tern_ring_publish_pending(tern_worker *worker);

/* Returns a rank for which records still wait to be published or a WAKE is due, or TERN_NOBODY.
 * Looks only at rings to `rank`, or at all rings if it is TERN_ANYBODY. */
uint32_t tern_ring_unpublished(const tern_worker *worker, uint32_t rank);

/* Between cork and uncork the worker gathers records for remote rings, so that one message carries
 * many. Meanwhile a ring is published only when it is full or flushed. Progress publishes nothing,
 * not even direct rings that gather, and does not linger at a ring that it has just emptied. uncork
 * publishes the rings, except those that their policy lets gather on. A program should cork only
 * while it makes many calls in a row and waits for none of their results. */
void tern_ring_cork(tern_worker *worker);
void tern_ring_uncork(tern_worker *worker);

/* Shuts the short path into the ring (held) or lets it open again. A caller holds a ring while
 * earlier records wait in a queue, since those must go first. */
void tern_ring_hold(tern_worker *worker, tern_out *out, bool held);

void tern_ring_ring_doorbell(tern_worker *worker, tern_out *out);

/* Makes the committed records of a direct ring visible. The release store of the first header pairs
 * with the acquire load in tern_ring_peek. The origin may read the idle mark early, without a
 * fence: the target issues a membarrier between setting the mark and its last look at the ring, so
 * either the target sees the header or the origin sees the mark. Where the kernel refuses
 * membarrier, context->fences is set, and the origin issues a fence. */
void tern_ring_publish_direct(tern_worker *worker, tern_out *out);

/* Reserves memory for a record with `bytes` bytes of payload over any transport. Goes on at the
 * beginning of the ring, reads new credit and begins a frame as needed. [out] room: where the
 * payload goes. TERN_ERR_AGAIN: no room until the target consumes. TERN_ERR_RANGE: larger than
 * tern_ring_record_max. */
tern_status tern_ring_reserve(tern_worker *worker, tern_out *out, size_t bytes, void **room);

/* Whether `bytes` bytes may be written now. If the known credit is too small, reads how far the
 * target has consumed. */
bool tern_ring_has_room(tern_worker *worker, tern_out *out, uint64_t bytes);

/* tern_ring_reserve without the error text of a TERN_ERR_AGAIN, for callers that only try. bytes
 * must be in range. */
tern_status tern_ring_try(tern_worker *worker, tern_out *out, size_t bytes, void **room);

/* Called after a transport between nodes has published the committed records: updates the ring's
 * state and wakes a target that sleeps. */
void tern_ring_published(tern_worker *worker, tern_out *out);

/* Publishes the committed records, whatever the transport. If the transport has no room, later
 * progress publishes them. */
void tern_ring_publish(tern_worker *worker, tern_out *out);

/* The largest payload of a record: half a ring less headers. */
size_t tern_ring_record_max(const tern_context *context);

/* Sets the position up to which the short path may write into a direct ring; 0 if it is shut. */
void tern_ring_open_lane(const tern_worker *worker, tern_out *out);

/* Makes out write directly into a ring of its target's rank, whose segment is mapped. */
void tern_ring_use_direct(const tern_context *context, tern_out *out, uint32_t ring);

/* Waits until remote ranks have answered all requests for rings. TERN_ERR_PEER. */
tern_status tern_ring_settle(tern_worker *worker);

/* Lends a ring to another thread. Until it is given back, lookups in the worker's table do not find
 * it and progress does not publish it. The thread that uses it meanwhile passes a worker of its
 * own. */
void tern_ring_lend(tern_worker *worker, tern_out *out);
void tern_ring_give_back(tern_worker *worker, tern_out *out);

/* Stands in the worker's table for a lent ring: shut, and never written. */
extern tern_out tern_lent_ring;

/* Returns the ring of a worker to this endpoint; any thread. NULL: no ring yet, or it is lent. */
tern_out *tern_ring_at_rest(const tern_worker *worker, uint32_t endpoint);

/* Continues the opening of a ring, if one is under way. TERN_ERR_AGAIN: it still is. */
tern_status tern_ring_opened(tern_worker *worker, tern_out *out);

/* Waits for the opening of a ring as long as it needs only the target's listener and the network,
 * not the target's progress. Does not wait in handlers. TERN_ERR_AGAIN: the opening is still under
 * way, since it needs the target's progress or takes long. */
tern_status tern_ring_await_opening(tern_worker *worker, tern_out *out);

/* Opens a ring to a worker whose segment is mapped, without help of that worker. */
tern_status tern_ring_open_direct(tern_worker *worker, tern_out *out);

/* Finds the ring to a worker, and opens it at its first use. [out] out. TERN_ERR_AGAIN: the opening
 * is under way (remote target), or the ring is lent. TERN_ERR_MEMORY: no memory on this rank.
 * TERN_ERR_PEER. */
tern_status tern_ring_open_channel(tern_worker *worker, uint32_t channel, uint32_t target,
                                   tern_out **out);
static inline tern_status tern_ring_open(tern_worker *worker, uint32_t target, tern_out **out) {
    return tern_ring_open_channel(worker, TERN_CHANNEL_CALLS, target, out);
}

/* frame.c: accepts the next frame. Returns the header of its first record, or 0. */
uint64_t tern_frame_accept(tern_worker *worker, tern_in *in);

/* Returns the header at the head of the ring, or 0 if nothing is published there. The acquire load
 * pairs with the release store of a publish. */
static inline uint64_t tern_ring_peek(tern_worker *worker, tern_in *in) {
    if (__builtin_expect(in->position >= in->limit, 0))
        return tern_frame_accept(worker, in);
    /* R1: tern_ring_publish_direct, tern_lane_send, tern_ring_append */
    return atomic_load_explicit(tern_ring_word(in->data, in->mask, in->position),
                                memory_order_acquire);
}

static inline char *tern_ring_payload(const tern_in *in) {
    return in->data + (in->position & in->mask) + 8;
}

/* Whether the record with this header lies inside the ring and inside its published part. The
 * length is read once, with the header, and checked before use. */
static inline bool tern_ring_check(const tern_in *in, uint64_t header) {
    uint64_t size = tern_record_size(tern_record_bytes(header));
    return size <= in->mask + 1 - (in->position & in->mask) && size <= in->limit - in->position;
}

/* Consumes the record at the head of in if it only directs the consumer: SKIP covers bytes at the
 * end of a generation, and MOVED says that the ring goes on in another one. Returns whether it
 * consumed such a record. */
bool tern_ring_pass(tern_worker *worker, tern_in *in, uint64_t header);

static inline void tern_ring_advance(tern_in *in, uint64_t header) {
    in->position += tern_record_size(tern_record_bytes(header));
}

/* Logs a malformed record, counts it and closes the ring: nothing after it can be trusted. */
void tern_ring_refuse(tern_worker *worker, tern_in *in, uint64_t header, const char *what);

/* Consumes from this worker's active rings of calls, looks at its doorbells, and reports consumed
 * positions to the origins. Returns the number of records handled. */
size_t tern_ring_poll(tern_worker *worker);

/* Tells the origin the consumed position, if more than half a ring was consumed since the last
 * report. If the transport has no room, a later call tells it. */
void tern_ring_report(tern_worker *worker, tern_in *in);

/* Called once a round for a ring that was found empty. If so many rings are active that a doorbell
 * is cheaper than polling, stops polling this one and leaves it to its doorbell. Returns whether it
 * did. */
bool tern_ring_rest(tern_worker *worker, tern_in *in, size_t active);

/* Sets up a ring in this rank's arena for a remote origin; any thread. If the first ring of a pair
 * is asked for several times, each answer names the same ring. [out] ring. */
tern_status tern_ring_grant(tern_context *context, uint32_t channel, uint32_t origin,
                            uint32_t target_index, uint32_t pieces, uint64_t start, uint32_t *ring);

/* The memory of a ring of this rank, or of a message channel, to which the records of messages are
 * appended. The fields were read once and checked. */
typedef struct tern_ring_memory {
    tern_ring_header *header;
    char *data;
    uint64_t bytes;        /* size of the ring */
    uint32_t endpoint;     /* of the origin */
    uint32_t target_index; /* index of the worker that consumes it */
} tern_ring_memory;

/* Appends a frame that a message brought to the ring of a remote origin, at [position,
 * position + bytes). A large frame comes in fragments, in order; last: this is the last fragment,
 * which publishes the frame. Any thread that holds the MPI lock may call it. */
void tern_ring_append(tern_context *context, const tern_ring_memory *memory, uint64_t position,
                      const char *records, size_t bytes, bool last);

/*
 * arena.c: the ring memory of a rank, in pieces of TERN_RING_SIZE, each with a header line that
 * names the origin's endpoint to which the piece belongs. A ring is one piece at first and 2, 4,
 * ... adjacent ones when it has grown. An origin takes a piece by a CAS of its owner, so an origin
 * that is killed half-way keeps only the pieces that it has taken and blocks nobody. The arena has
 * a part on each NUMA node of its rank, and a ring takes pieces of the node where the target
 * worker's thread runs, if some are left. Rings that grow take pieces from one half of each part
 * only; the other half is kept for the first rings of pairs that have not talked yet.
 */

/* Takes pieces for a ring from endpoint to worker target, whose segment is mapped, and prepares the
 * ring for records from position start on. [out] ring: its first piece. TERN_ERR_MEMORY. */
tern_status tern_arena_claim(tern_context *context, uint32_t target, uint32_t endpoint,
                             uint32_t pieces, uint64_t start, uint32_t *ring);

/* Gives the pieces of a ring of this rank back. Nobody may write into the ring any more. */
void tern_arena_release(tern_context *context, uint32_t ring, uint64_t bytes);

/* Whether this rank's pieces [ring, ring + pieces) belong to endpoint. */
bool tern_arena_is_of(const tern_context *context, uint32_t endpoint, uint32_t ring,
                      uint64_t pieces);

/* Size of this rank's ring whose first piece is ring, or 0 if no ring begins there. */
uint64_t tern_arena_ring_bytes(const tern_context *context, uint32_t ring);

/*
 * growth.c: a full ring is replaced by one of twice the size, up to TERN_RING_GROWTH times the
 * first size; a message channel is replaced by a ring of the first size. A record of the kind
 * MOVED, whose id names the new ring, ends the old one. Positions go on in the new ring, so order
 * and credit stay as they are. Every reservation leaves room for that record.
 */

/* Bytes that a reservation in a remote ring leaves free: for the MOVED record, with its frame
 * header over rma or with the zero behind it over p2p. A direct ring has the zero word that ends
 * its content. */
#define TERN_MOVE_ROOM 32u

/* Replaces a full ring by a larger one, or a message channel by a ring. TERN_OK: out now writes
 * into the new, empty ring. TERN_ERR_AGAIN: not yet possible. */
tern_status tern_ring_grow(tern_worker *worker, tern_out *out);

/* Gives back the memory of the smaller ring that in had before it grew. */
void tern_ring_leave_old(tern_context *context, tern_in *in);

/* The target's part: follows the MOVED record at the head of in to the new ring. False: the
 * record's origin does not own the ring that it names. */
bool tern_ring_follow(tern_worker *worker, tern_in *in, uint64_t header);

#endif
