#ifndef TERN_RMA_RING_RING_H
#define TERN_RMA_RING_RING_H

/*
 * Ring: records from one worker to another, single producer, single consumer, strictly FIFO (design
 * 6). The records lie in the target's arena; a far origin keeps a staging copy of the same shape.
 * A pair has a ring for each channel: what progress consumes must not wait behind notifications,
 * which stay in their ring until the application probes for them.
 *
 * Record: an 8-byte header {kind:8, id:24, bytes:32} and the payload, padded to 8 bytes. Positions
 * are 64-bit, only grow, and are compared by difference; position p lies at p modulo the ring's
 * size. A record never wraps.
 *
 * Validity is in the header itself, so that a poll touches one cache line: a header is never zero,
 * and before a header is published the word where the next one will lie is made zero. So the
 * consumer meets either a published header or zero, never something old. Publishing a run of
 * records is one release store, of its first header, which is withheld until then; it pairs with
 * the consumer's acquire load of that header, and everything written before it is visible with it.
 * Over rma, where no order of puts can be had, runs are batches that validate themselves
 * (rma/ring/batch.h) and `limit` bounds what the consumer may read.
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

/* What a record of so many payload bytes takes in the ring. */
static inline uint64_t tern_record_size(size_t bytes) {
    return 8 + (((uint64_t)bytes + 7) & ~(uint64_t)7);
}

/* In the place of a consumed position, which it cannot be: the target has met a record that cannot
 * be one, and reads no other of the ring. */
#define TERN_CONSUMED_NEVER UINT64_MAX

/* How far a ring has come in being followed by a larger one (rma/ring/growth.c). */
enum { TERN_GROWTH_NONE, TERN_GROWTH_ASKED, TERN_GROWTH_MOVING };

/* The origin's side. */
typedef struct tern_out {
    _Alignas(TERN_LINE) tern_lane lane; /* first: see tern/detail/view.h */
    uint64_t limit;                     /* nothing at or past it may be written yet */
    uint64_t looked;                    /* the write position that progress has seen last */
    tern_ring_header *header;           /* near */
    const tern_transport_ops *via;      /* of records; of data it is tern_way_to */
    struct tern_out *next;              /* of the worker */
    struct tern_out *next_pending;      /* published by progress */
    bool near;                          /* data is the ring itself */
    bool pending, opening, lent;
    bool damaged;   /* what it holds was written over (rma/reply/answer.h) */
    uint8_t policy; /* tern_publish; what it asks of the ring is lane.gather */
    bool held;      /* nothing is sent the short way: earlier records still wait elsewhere */
    uint32_t channel;
    uint32_t origin, target; /* worker numbers */
    uint32_t ring;           /* index in the target's arena */
    bool batch_open;         /* rma: records are being gathered behind a batch header */
    uint64_t batch;          /* its position */
    uint32_t batch_skip;     /* what its target leaves out after it */
    uint64_t published[2];   /* what TERN_RMA_COMMIT=flush puts */
    _Atomic uint64_t told;   /* far: published up to here */
    _Atomic uint32_t asleep; /* rma/ring/sleep.h */
    bool wake_due;           /* a WAKE that found no room */
    uint64_t lap;            /* of the staging memory whose puts are known to be done */
    int64_t open_reply[2];   /* far: what the target answers to the opening */
    tern_question open_question;
    uint8_t growth;                 /* TERN_GROWTH_* */
    uint32_t grow_wait;             /* full rings to meet before growth is tried again */
    uint32_t next_ring;             /* the larger one */
    char *next_data;                /* far: its staging */
    struct tern_requests *requests; /* notified operations that wait (rma/notify/request.h) */
    _Atomic uint64_t wanted;        /* ring + 1 that its target wants back (rma/ring/reclaim.h) */
    struct tern_out *next_wanted;
    uint32_t loose_sent; /* batches since it asked for a ring (rma/ring/loose.h) */
} tern_out;

/* The target's side. As many as there are rings lie in the rank's tables: a rank that lacks memory
 * still takes what comes. */
typedef struct tern_in {
    _Alignas(TERN_LINE) char *data;
    uint64_t mask;
    uint64_t position; /* of the next record to consume */
    uint64_t limit;    /* rma: end of what is validated; otherwise the end of time */
    uint64_t reported; /* position that the origin was last told */
    uint32_t empty;    /* polls in a row that found nothing */
    uint32_t channel;
    uint32_t ring;   /* index of its first piece in the arena */
    uint32_t origin; /* worker number */
    tern_worker_id origin_id;
    bool active, closed, is_allocated;
    bool ending;    /* goes on as a loose one, once it is consumed: rma/ring/reclaim.h */
    bool streaming; /* near, another worker's: the last poll found records too; not corked */
    tern_ring_header *header;
    const tern_transport_ops *via;
    uint64_t skip;       /* rma: bytes to leave out when limit is reached */
    uint32_t left;       /* rma: the ring before this one, until a batch comes in this one */
    uint64_t left_bytes; /* 0: none */
    struct tern_posting *credit; /* over a network, that was told last; or NULL */
    uint32_t sleep;              /* TERN_SLEEP_*, rma/ring/sleep.h */
    uint64_t sleep_at;           /* TERN_SLEEP_ALLOWED: from this position on */
    struct tern_sleep_ask *ask;  /* TERN_SLEEP_ASKED */
    struct tern_in *next;        /* of the worker */
    uint64_t seen;         /* its position, and the loose batches of the process, when it was */
    uint64_t seen_batches; /* last seen to carry something (rma/ring/reclaim.h) */
} tern_in;

_Static_assert(sizeof(tern_in) == TERN_IN_BYTES, "the tables have room for it");

/* Registers the consumer of records of a kind; while the context is being created. */
void tern_record_handle(tern_context *context, unsigned kind, tern_record_handler handler);

static inline _Atomic uint64_t *tern_ring_word(char *data, uint64_t mask, uint64_t position) {
    return (_Atomic uint64_t *)(void *)(data + (position & mask));
}

static inline _Atomic uint64_t *tern_out_word(const tern_out *out, uint64_t position) {
    return tern_ring_word(out->lane.data, out->lane.mask, position);
}

/* Completes the reserved record. It becomes visible with the next publish. The first header of a
 * run is withheld from a near ring; staging takes it at once. Relaxed stores: the publishing
 * release store orders them. */
static inline void tern_ring_commit(tern_out *out, uint64_t header) {
    uint64_t at = out->lane.write, next = at + tern_record_size(tern_record_bytes(header));
    bool near = out->near;
    if (near)
        /* R9: tern_ring_publish_near; before its release store */
        atomic_store_explicit(tern_out_word(out, next), 0, memory_order_relaxed);
    if (!near || out->lane.first_header != 0)
        atomic_store_explicit(tern_out_word(out, at), header, memory_order_relaxed);
    if (out->lane.first_header == 0) {
        out->lane.first = at;
        out->lane.first_header = header;
    }
    out->lane.write = next;
}

/* Publishes what is committed if it is as much as is to be gathered; else progress will. */
void tern_ring_publish_due(tern_worker *worker, tern_out *out);

/* For a run of records that the short way has begun or published: progress is to hear of it, or
 * the target its doorbell. */
void tern_ring_attend(tern_worker *worker, tern_out *out);

/* Publishes what was gathered for any target and what a transport had no room for; pending is the
 * part of progress, which leaves alone what has grown since its last round. */
void tern_ring_publish_all(tern_worker *worker);
void tern_ring_publish_to(tern_worker *worker, uint32_t rank);
void tern_ring_publish_pending(tern_worker *worker);

/* A rank for which published records, or a WAKE, are still due: rank, or any for TERN_ANYBODY.
 * TERN_NOBODY. */
uint32_t tern_ring_unpublished(const tern_worker *worker, uint32_t rank);

/* Between the two, records for far rings gather, and the second publishes what its policy does not
 * gather on: one message instead of many. Only full rings and those that are flushed are published
 * meanwhile; progress publishes nothing, not even of near rings that gather, and lingers at no ring
 * that has just been emptied. A program should cork only while it makes many calls in a row and
 * waits for none of their results. */
void tern_ring_cork(tern_worker *worker);
void tern_ring_uncork(tern_worker *worker);

/* While held, nothing is sent the short way: earlier records still wait elsewhere. */
void tern_ring_hold(tern_worker *worker, tern_out *out, bool held);

void tern_ring_ring_doorbell(tern_worker *worker, tern_out *out);

/* Makes the committed records of a near ring visible. The release store of the first header pairs
 * with the acquire load in tern_ring_peek. The idle mark may be read early: the target issues a
 * membarrier between setting it and its last look, so either it sees our header or we see its mark.
 * Where membarrier is refused, fences is set. */
void tern_ring_publish_near(tern_worker *worker, tern_out *out);

/* Reserves by any transport: wraps, takes credit, opens batches. [out] room. TERN_ERR_AGAIN: no
 * room until the target consumes. TERN_ERR_RANGE: larger than tern_ring_record_max. */
tern_status tern_ring_reserve(tern_worker *worker, tern_out *out, size_t bytes, void **room);

/* Whether so many bytes may be written now; takes new credit if need be. */
bool tern_ring_has_room(tern_worker *worker, tern_out *out, uint64_t bytes);

/* tern_ring_reserve without the text of a TERN_ERR_AGAIN, for those who only try; bytes are in
 * range. */
tern_status tern_ring_try(tern_worker *worker, tern_out *out, size_t bytes, void **room);

/* The transport has published what was committed. */
void tern_ring_published(tern_worker *worker, tern_out *out);

/* Publishes by any transport; what finds no room there is published by later progress. */
void tern_ring_publish(tern_worker *worker, tern_out *out);

/* The largest payload of a record: half a ring less headers. */
size_t tern_ring_record_max(const tern_context *context);

/* Opens the short way as far as it may be used. */
void tern_ring_open_lane(const tern_worker *worker, tern_out *out);

/* Makes out write into a ring of its rank, whose segment is mapped. */
void tern_ring_use_near(const tern_context *context, tern_out *out, uint32_t ring);

/* Waits for the answers of far ranks to what was asked for rings. TERN_ERR_PEER. */
tern_status tern_ring_settle(tern_worker *worker);

/* Takes a ring out of its worker's hands: nothing finds it in the worker's table, and progress does
 * not publish it, until it is given back. The thread that has it passes a worker of its own. */
void tern_ring_lend(tern_worker *worker, tern_out *out);
void tern_ring_give_back(tern_worker *worker, tern_out *out);

/* In the place of lent rings: shut, and never written. */
extern tern_out tern_lent_ring;

/* A worker's ring on a line, for any thread. NULL: it is not open, or it is lent. */
tern_out *tern_ring_at_rest(const tern_worker *worker, uint32_t line);

/* Goes on with an opening that is under way. TERN_ERR_AGAIN: it still is. */
tern_status tern_ring_opened(tern_worker *worker, tern_out *out);

/* Waits for an opening that is under way, where the target need not help: for its listener and the
 * network. Not in handlers. TERN_ERR_AGAIN: it still is, and takes the target's progress or long.
 */
tern_status tern_ring_await_opening(tern_worker *worker, tern_out *out);

/* Opens a ring to a worker whose segment is mapped, with no help of its. */
tern_status tern_ring_open_near(tern_worker *worker, tern_out *out);

/* The ring to a worker, opened if need be. [out] out. TERN_ERR_AGAIN: the opening is under way
 * (far), or the ring is lent; TERN_ERR_MEMORY: the target's arena is used up; TERN_ERR_PEER. */
tern_status tern_ring_open_channel(tern_worker *worker, uint32_t channel, uint32_t target,
                                   tern_out **out);
static inline tern_status tern_ring_open(tern_worker *worker, uint32_t target, tern_out **out) {
    return tern_ring_open_channel(worker, TERN_CHANNEL_CALLS, target, out);
}

/* A header, or 0. The acquire load pairs with the release store of a publish. */
uint64_t tern_batch_accept(tern_worker *worker, tern_in *in);
static inline uint64_t tern_ring_peek(tern_worker *worker, tern_in *in) {
    if (__builtin_expect(in->position >= in->limit, 0))
        return tern_batch_accept(worker, in);
    /* R1: tern_ring_publish_near, tern_lane_send, tern_ring_append */
    return atomic_load_explicit(tern_ring_word(in->data, in->mask, in->position),
                                memory_order_acquire);
}

static inline char *tern_ring_payload(const tern_in *in) {
    return in->data + (in->position & in->mask) + 8;
}

/* Whether the record with this header lies inside the ring and inside what is published: the length
 * is read once, with the header, and checked before use. */
static inline bool tern_ring_check(const tern_in *in, uint64_t header) {
    uint64_t size = tern_record_size(tern_record_bytes(header));
    return size <= in->mask + 1 - (in->position & in->mask) && size <= in->limit - in->position;
}

/* Whether the head of in was nothing but a turn of the ring, which it then has taken: bytes to
 * leave out, or the end of a ring that goes on in another. */
bool tern_ring_pass(tern_worker *worker, tern_in *in, uint64_t header);

static inline void tern_ring_advance(tern_in *in, uint64_t header) {
    in->position += tern_record_size(tern_record_bytes(header));
}

/* Reports a malformed record, counts it and closes the ring: nothing after it can be trusted. */
void tern_ring_refuse(tern_worker *worker, tern_in *in, uint64_t header, const char *what);

/* Consumes from this worker's active rings of calls, hears doorbells, tells credits. Returns
 * records handled. */
size_t tern_ring_poll(tern_worker *worker);

/* Tells the origin when half a ring is consumed; what a transport had no room for is told later. */
void tern_ring_report(tern_worker *worker, tern_in *in);

/* For a ring that was found empty, once a round: leaves it to its doorbell if that is cheaper than
 * polling it among so many active ones. Whether it did. */
bool tern_ring_rest(tern_worker *worker, tern_in *in, size_t active);

/* Sets a ring up in this rank's arena for a far origin; any thread. The first ring of a pair is the
 * same however often it is asked for. [out] ring. */
tern_status tern_ring_grant(tern_context *context, uint32_t channel, uint32_t origin,
                            uint32_t target_index, uint32_t pieces, uint64_t start, uint32_t *ring);

/* A ring of this rank that messages are appended to: what its header says, read once and checked.
 */
typedef struct tern_ring_place {
    tern_ring_header *header;
    char *data;
    uint64_t bytes; /* of the ring */
    uint32_t line;
    uint32_t target_index; /* the worker's that consumes it */
} tern_ring_place;

/* Appends a batch that a message brought, [position, position + bytes), to the ring of a far
 * origin; any thread with the MPI lock. Fragments of a batch come in order; last ends it. */
void tern_ring_append(tern_context *context, const tern_ring_place *place, uint64_t position,
                      const char *records, size_t bytes, bool last);

/*
 * arena.c: the ring memory of a rank, in pieces of TERN_RING_SIZE, each with a header line that
 * names the line which has it. A ring is one piece at first and 2, 4, ... adjacent ones when it has
 * grown. Pieces are taken by CAS of their owners, so a rank killed half-way keeps no more than it
 * has taken and blocks nobody. The arena has a part on each NUMA node of its rank, and a ring takes
 * pieces where the target worker's thread runs, if there are some left. Of each part, rings that
 * grow take pieces of one half only: pairs that have not met yet find theirs in the other.
 */

/* Takes a ring to worker target, whose segment is mapped, and makes it ready for records from
 * position start on. [out] ring: its first piece. TERN_ERR_MEMORY. */
tern_status tern_arena_claim(tern_context *context, uint32_t target, uint32_t line, uint32_t pieces,
                             uint64_t start, uint32_t *ring);

/* Gives a ring of this rank back. Nobody writes into it any more. */
void tern_arena_release(tern_context *context, uint32_t ring, uint64_t bytes);

/* Whether line has this rank's pieces [ring, ring + pieces). */
bool tern_arena_is_of(const tern_context *context, uint32_t line, uint32_t ring, uint64_t pieces);

/* Size of the ring of this rank that begins there, 0 if none does. */
uint64_t tern_arena_ring_bytes(const tern_context *context, uint32_t ring);

/*
 * growth.c: a ring that is full is followed by one of twice the size, up to TERN_RING_GROWTH times
 * the first, and a loose one by a first one. A record of the kind MOVED, whose id names the new
 * ring, ends the old one; positions go on in the new one, so order and credit stay as they are.
 * Room for that record is always kept free.
 */

/* Bytes that a far reservation leaves free: the record, with its batch header over rma, or with the
 * zero behind it over p2p. A near ring has the word that ends its content. */
#define TERN_MOVE_ROOM 32u

/* For a full ring, or a loose one that is due. TERN_OK: a larger, empty one has taken its place.
 * TERN_ERR_AGAIN: not now. */
tern_status tern_ring_grow(tern_worker *worker, tern_out *out);

/* Gives back the memory of the ring that in was before it grew. */
void tern_ring_leave_old(tern_context *context, tern_in *in);

/* The target's part: follows the MOVED record at the head of in. False: the ring that it names is
 * not its origin's. */
bool tern_ring_follow(tern_worker *worker, tern_in *in, uint64_t header);

#endif
