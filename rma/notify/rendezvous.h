#ifndef TERN_RMA_NOTIFY_RENDEZVOUS_H
#define TERN_RMA_NOTIFY_RENDEZVOUS_H

/*
 * The inside of rendezvous (tern/rendezvous.h). Handshakes are records in the ring of calls: an
 * offer says what was posted, and an end says how much of it was moved. A handshake that cannot be
 * sent at once waits in a list, in order for each target. So callers need not retry, and handlers
 * can post. Each pair of workers has a limit (TERN_POSTS_MAX) on its open offers, and each end
 * belongs to an offer. So the memory for waiting handshakes and for offers that a target does not
 * take is bounded, too. A target can always consume the record: no full table ever stops the calls
 * behind it.
 */

#include "rma/notify/notify.h"
#include "rma/region/region.h"
#include "tern/rendezvous.h"

/* Ids of records. The ids of offers are also the kinds of descriptors. */
enum { TERN_OFFER_RECEIVE = TERN_POSTED_RECEIVE, TERN_OFFER_SEND = TERN_POSTED_SEND, TERN_END };
enum { TERN_TAG_BUCKETS = 32 };

/* The payloads of the two records. */
typedef struct tern_offer {
    uint64_t id; /* names the post */
    uint64_t tag;
    tern_ptr gaddr;
    uint64_t bytes;
} tern_offer;

typedef struct tern_end {
    uint64_t id;
    uint64_t bytes;
} tern_end;

/* A handshake that could not be sent yet. */
typedef struct tern_parcel {
    struct tern_parcel *next;
    uint32_t target, type;
    union {
        tern_offer offer;
        tern_end end;
    } payload;
} tern_parcel;

/* A descriptor that the program has not taken yet. */
typedef struct tern_arrival {
    struct tern_arrival *next;
    tern_descriptor descriptor;
} tern_arrival;

/* A post of this worker. Its id is {generation:32, index in the table + 1:32}. */
typedef struct tern_slot {
    uint32_t generation;
    uint32_t next_free; /* 0: in use; else index + 1 of the next free slot, UINT32_MAX: the last */
    uint32_t target;
    tern_status status; /* TERN_ERR_AGAIN: open */
    uint64_t posted, moved;
    tern_hold hold; /* keeps the offered region registered, if a region was offered */
} tern_slot;

/* The state with one other worker. */
typedef struct tern_party {
    uint16_t open;    /* own posts that the program has not waited for */
    uint16_t arrived; /* descriptors of that worker that the program has not taken */
    uint32_t parcels; /* number of parcels that wait to be sent there */
    uint32_t blocked; /* the pass in which a parcel to it could not be sent */
} tern_party;

/* A worker's state of rendezvous, made at its first one. */
typedef struct tern_rendezvous {
    tern_party *with; /* by worker number */
    tern_slot *slots;
    uint32_t slot_count, free; /* free: index + 1, or 0 */
    uint32_t pass;             /* number of the latest attempt to send the waiting parcels */
    tern_parcel *first, **last;
    struct {
        tern_arrival *first, **last; /* in the order in which they came */
    } bucket[TERN_TAG_BUCKETS];
} tern_rendezvous;

static inline uint32_t tern_tag_bucket(uint64_t tag) {
    return (uint32_t)((tag * 0x9e3779b97f4a7c15u) >> 59) % TERN_TAG_BUCKETS;
}

/* The worker's state, made if need be. NULL: no memory. */
tern_rendezvous *tern_rendezvous_of(tern_worker *worker);

/* Takes a slot for a post to a worker. [out] id. TERN_ERR_MEMORY. */
tern_status tern_slot_take(tern_rendezvous *rendezvous, uint32_t target, uint64_t bytes,
                           uint64_t *id);
/* The slot of a post. NULL: the post is over, or never existed. */
tern_slot *tern_slot_find(const tern_rendezvous *rendezvous, uint64_t id);
/* Gives a slot back; from then on its id names no post. */
void tern_slot_give(tern_rendezvous *rendezvous, tern_slot *slot);

/* Sends the parcel now, or keeps a copy that progress sends later. TERN_ERR_MEMORY: could do
 * neither. */
tern_status tern_parcel_send(tern_worker *worker, tern_rendezvous *rendezvous,
                             const tern_parcel *parcel);

/* Consumes a handshake at the head of in; returns 1, or 0 if it stays there. */
size_t tern_rendezvous_consume(tern_worker *worker, tern_in *in);

/* Sends waiting parcels; returns how many. Part of the layer's progress. */
size_t tern_rendezvous_advance(tern_worker *worker);

/* Returns a rank to which parcels wait: only rank counts, or every rank if it is TERN_ANYBODY.
 * TERN_NOBODY if no parcel waits. */
uint32_t tern_rendezvous_unsent(const tern_worker *worker, uint32_t rank);

void tern_rendezvous_discard(tern_worker *worker);

#endif
