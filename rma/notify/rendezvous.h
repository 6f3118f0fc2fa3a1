#ifndef TERN_RMA_NOTIFY_RENDEZVOUS_H
#define TERN_RMA_NOTIFY_RENDEZVOUS_H

/*
 * Rendezvous from inside (tern/rendezvous.h). Handshakes are records among the calls: an offer says
 * what was posted, an end how much of it was moved. Those whose way is not free wait here, in order
 * for each target, so that nobody has to retry and handlers can post. Offers are bounded by the
 * window of a pair, and ends by the offers, so what waits here and what lies at a target that takes
 * nothing is bounded too, and a record can always be consumed: no table that is full ever stops the
 * calls behind it.
 */

#include "rma/notify/notify.h"
#include "rma/region/region.h"
#include "tern/rendezvous.h"

/* Ids of records; those of offers are kinds of descriptors. */
enum { TERN_OFFER_RECEIVE = TERN_POSTED_RECEIVE, TERN_OFFER_SEND = TERN_POSTED_SEND, TERN_END };
enum { TERN_TAG_BUCKETS = 32 };

/* The payloads. */
typedef struct tern_offer {
    uint64_t id; /* of the post */
    uint64_t tag;
    tern_ptr place;
    uint64_t bytes;
} tern_offer;

typedef struct tern_end {
    uint64_t id;
    uint64_t bytes;
} tern_end;

/* A record whose way is not free. */
typedef struct tern_parcel {
    struct tern_parcel *next;
    uint32_t target, type;
    union {
        tern_offer offer;
        tern_end end;
    } payload;
} tern_parcel;

/* A descriptor that nobody has taken. */
typedef struct tern_arrival {
    struct tern_arrival *next;
    tern_descriptor descriptor;
} tern_arrival;

/* A post; its id is {generation:32, place in the table + 1:32}. */
typedef struct tern_slot {
    uint32_t generation;
    uint32_t next_free; /* place + 1 */
    uint32_t target;
    tern_status status; /* TERN_ERR_AGAIN: open */
    uint64_t posted, moved;
    tern_hold hold; /* of the region that was offered, if it is one */
} tern_slot;

/* What there is with another worker. */
typedef struct tern_party {
    uint16_t open;    /* own posts that were not waited for */
    uint16_t arrived; /* descriptors of its that were not taken */
    uint32_t parcels; /* that wait for their way there */
    uint32_t blocked; /* the pass in which it had no room */
} tern_party;

/* Made when a worker has its first part in a rendezvous. */
typedef struct tern_rendezvous {
    tern_party *with; /* by worker number */
    tern_slot *slots;
    uint32_t slot_count, free; /* free: place + 1, or 0 */
    uint32_t pass;
    tern_parcel *first, **last;
    struct {
        tern_arrival *first, **last; /* in the order in which they came */
    } bucket[TERN_TAG_BUCKETS];
} tern_rendezvous;

static inline uint32_t tern_tag_bucket(uint64_t tag) {
    return (uint32_t)((tag * 0x9e3779b97f4a7c15u) >> 59) % TERN_TAG_BUCKETS;
}

/* Made if need be. NULL: no memory. */
tern_rendezvous *tern_rendezvous_of(tern_worker *worker);

/* A slot for a post to a worker. [out] id. TERN_ERR_MEMORY. */
tern_status tern_slot_take(tern_rendezvous *rendezvous, uint32_t target, uint64_t bytes,
                           uint64_t *id);
/* NULL: over, or never was. */
tern_slot *tern_slot_find(const tern_rendezvous *rendezvous, uint64_t id);
void tern_slot_give(tern_rendezvous *rendezvous, tern_slot *slot);

/* Sends the parcel now, or later by progress. TERN_ERR_MEMORY: neither. */
tern_status tern_parcel_send(tern_worker *worker, tern_rendezvous *rendezvous,
                             const tern_parcel *parcel);

size_t tern_rendezvous_consume(tern_worker *worker, tern_in *in);

/* Sends what waits for its way; how many records. Part of the layer's progress. */
size_t tern_rendezvous_advance(tern_worker *worker);

/* A rank to which parcels wait: rank, or any for TERN_ANYBODY; TERN_NOBODY. */
uint32_t tern_rendezvous_unsent(const tern_worker *worker, uint32_t rank);

void tern_rendezvous_discard(tern_worker *worker);

#endif
