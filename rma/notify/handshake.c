#include "rma/notify/rendezvous.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/notify/request.h"
#include "rma/memory/state.h"
#include "rma/port/port.h"
#include "rma/transport/transport.h"
#include "src/log.h"
#include "src/progress/wait.h"

/* Sends, keeps and consumes handshakes, the records of rendezvous, and keeps the table of posts. */

enum { SLOTS = 16 };

static size_t payload_bytes(uint32_t type) {
    return type == TERN_END ? sizeof(tern_end) : sizeof(tern_offer);
}

tern_rendezvous *tern_rendezvous_of(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    if (n->rendezvous != NULL)
        return n->rendezvous;
    tern_rendezvous *v = calloc(1, sizeof *v);
    tern_party *with = calloc((size_t)n->size * n->workers, sizeof *with);
    if (v == NULL || with == NULL) {
        free(v);
        free(with);
        return NULL;
    }
    v->with = with;
    v->last = &v->first;
    for (int b = 0; b < TERN_TAG_BUCKETS; b++)
        v->bucket[b].last = &v->bucket[b].first;
    n->rendezvous = v;
    return v;
}

tern_slot *tern_slot_find(const tern_rendezvous *v, uint64_t id) {
    uint64_t index = (id & UINT32_MAX) - 1;
    if (v == NULL || index >= v->slot_count)
        return NULL;
    tern_slot *s = &v->slots[index];
    return s->generation == id >> 32 && s->next_free == 0 ? s : NULL;
}

/* If no slot is free, doubles the table of posts and puts the new slots into the free list. */
static tern_status make_slots(tern_rendezvous *v) {
    if (v->free != 0)
        return TERN_OK;
    uint32_t count = v->slot_count == 0 ? SLOTS : v->slot_count * 2;
    tern_slot *larger = realloc(v->slots, count * sizeof *larger);
    if (larger == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for %u posts", count);
    v->slots = larger;
    for (uint32_t i = count; i-- > v->slot_count;) {
        larger[i] = (tern_slot){.next_free = v->free != 0 ? v->free : UINT32_MAX};
        v->free = i + 1;
    }
    v->slot_count = count;
    return TERN_OK;
}

tern_status tern_slot_take(tern_rendezvous *v, uint32_t target, uint64_t bytes, uint64_t *id) {
    tern_status status = make_slots(v);
    if (status != TERN_OK)
        return status;
    uint32_t index = v->free;
    tern_slot *s = &v->slots[index - 1];
    v->free = s->next_free == UINT32_MAX ? 0 : s->next_free;
    *s = (tern_slot){s->generation, 0, target, TERN_ERR_AGAIN, bytes, 0, {NULL, NULL}};
    v->with[target].open++;
    *id = (uint64_t)s->generation << 32 | index;
    return TERN_OK;
}

void tern_slot_give(tern_rendezvous *v, tern_slot *s) {
    tern_region_release(&s->hold);
    v->with[s->target].open--;
    s->generation++;
    s->next_free = v->free != 0 ? v->free : UINT32_MAX;
    v->free = (uint32_t)(s - v->slots) + 1;
}

/* Ensures that the puts to a rank arrive before the end of the rendezvous does. In shared memory
 * the release store that publishes the record orders them. If the transport keeps posts in order,
 * it suffices that it has accepted the puts. Otherwise this function flushes. A flush waits, so
 * inside a handler this returns TERN_ERR_AGAIN instead. */
static tern_status handshake_settle_puts(tern_worker *worker, uint32_t rank) {
    const tern_transport_ops *transport = tern_transport_to(worker->context, rank);
    if (transport == &tern_transport_shm)
        return TERN_OK;
    if (!tern_requests_moving(worker, rank))
        return TERN_ERR_AGAIN;
    if (transport->posts_in_order || tern_rma_worker_of(worker)->dirty[rank].what == 0)
        return TERN_OK;
    if (worker->in_handler)
        return TERN_ERR_AGAIN;
    const tern_status status = transport->flush(worker, rank);
    return status == TERN_OK ? tern_port_tell(worker, rank, TERN_FLUSHER_TERN) : status;
}

/* Sends a handshake. TERN_ERR_AGAIN: cannot be sent now. */
static tern_status handshake_send(tern_worker *worker, const tern_parcel *p) {
    size_t bytes = payload_bytes(p->type);
    tern_out *out = NULL;
    void *room = NULL;
    tern_status status = TERN_OK;
    if (p->type == TERN_END)
        status = handshake_settle_puts(worker, tern_rank_of(worker->context, p->target));
    if (status == TERN_OK)
        status = tern_ring_open(worker, p->target, &out);
    if (status == TERN_OK)
        status = tern_ring_try(worker, out, bytes, &room);
    if (status != TERN_OK)
        return status;
    memcpy(room, &p->payload, bytes);
    tern_ring_commit(out, tern_record_header(TERN_RECORD_RENDEZVOUS, p->type, bytes));
    tern_ring_publish(worker, out);
    return TERN_OK;
}

tern_status tern_parcel_send(tern_worker *worker, tern_rendezvous *v, const tern_parcel *p) {
    tern_status status =
        v->with[p->target].parcels > 0 ? TERN_ERR_AGAIN : handshake_send(worker, p);
    if (status != TERN_ERR_AGAIN)
        return status;
    tern_parcel *kept = malloc(sizeof *kept);
    if (kept == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory to keep a handshake");
    *kept = *p;
    kept->next = NULL;
    *v->last = kept;
    v->last = &kept->next;
    v->with[p->target].parcels++;
    worker->view.unsent = 1;
    tern_error_clear_again();
    return TERN_OK;
}

uint32_t tern_rendezvous_unsent(const tern_worker *worker, uint32_t rank) {
    const tern_rendezvous *v = tern_notify_of(worker)->rendezvous;
    for (const tern_parcel *p = v != NULL ? v->first : NULL; p != NULL; p = p->next) {
        const uint32_t theirs = tern_rank_of(worker->context, p->target);
        if (rank == TERN_ANYBODY || rank == theirs)
            return theirs;
    }
    return TERN_NOBODY;
}

/* Gives up a parcel that can never be sent. If it is an offer, the post of this worker fails. If it
 * is an end, the post belongs to another rank, and only the log of this rank tells of the loss. A
 * death is not logged: waits for the target report it. */
static void handshake_lose(tern_rendezvous *v, const tern_parcel *p, tern_status status) {
    tern_slot *s = p->type == TERN_END ? NULL : tern_slot_find(v, p->payload.offer.id);
    if (s != NULL)
        s->status = status;
    else if (status != TERN_ERR_PEER)
        tern_log(TERN_LOG_ERROR, "the end of a rendezvous with worker %u is lost: %s", p->target,
                 tern_error_detail());
}

size_t tern_rendezvous_advance(tern_worker *worker) {
    tern_rendezvous *v = tern_notify_of(worker)->rendezvous;
    if (__builtin_expect(v == NULL || v->first == NULL, 1))
        return 0;
    size_t sent = 0;
    tern_parcel **link = &v->first;
    v->pass++;
    while (*link != NULL) {
        tern_parcel *p = *link;
        tern_party *with = &v->with[p->target];
        tern_status status = TERN_ERR_AGAIN;
        if (with->blocked != v->pass) {
            status = tern_glance(worker, tern_rank_of(worker->context, p->target));
            if (status == TERN_OK)
                status = handshake_send(worker, p);
        }
        if (status == TERN_ERR_AGAIN) {
            with->blocked = v->pass; /* parcels to the same target behind it keep their order */
            link = &p->next;
            continue;
        }
        if (status != TERN_OK)
            handshake_lose(v, p, status);
        with->parcels--;
        *link = p->next;
        free(p);
        sent++;
    }
    v->last = link;
    return sent;
}

/* Keeps an offer that has arrived. TERN_ERR_MEMORY: try again later. TERN_ERR_RANGE: the offer is
 * invalid. */
static tern_status keep_offer(tern_worker *worker, const tern_in *in, uint32_t type) {
    tern_offer o;
    uint64_t offset;
    tern_read_once(&o, tern_ring_payload(in), sizeof o);
    if (o.bytes > 0 && (o.gaddr.rank != in->origin_id.rank ||
                        tern_segment_check(worker->context, o.gaddr, o.bytes, &offset) != TERN_OK))
        return TERN_ERR_RANGE;
    tern_rendezvous *v = tern_rendezvous_of(worker);
    if (v != NULL && v->with[in->origin].arrived >= TERN_POSTS_MAX)
        return TERN_ERR_RANGE;
    tern_arrival *a = v != NULL ? malloc(sizeof *a) : NULL;
    if (a == NULL)
        return TERN_ERR_MEMORY;
    a->next = NULL;
    a->descriptor = (tern_descriptor){.peer = in->origin_id,
                                      .tag = o.tag,
                                      .place = o.gaddr,
                                      .bytes = o.bytes,
                                      .which = type,
                                      .id = o.id};
    uint32_t b = tern_tag_bucket(o.tag);
    *v->bucket[b].last = a;
    v->bucket[b].last = &a->next;
    v->with[in->origin].arrived++;
    return TERN_OK;
}

/* Ends the post of this worker that the other worker has finished. */
static void meet_end(tern_worker *worker, const tern_in *in) {
    tern_end e;
    tern_read_once(&e, tern_ring_payload(in), sizeof e);
    tern_slot *s = tern_slot_find(tern_notify_of(worker)->rendezvous, e.id);
    if (s == NULL || s->target != in->origin || s->status != TERN_ERR_AGAIN) {
        tern_log(TERN_LOG_WARN, "rank %u worker %u has finished a rendezvous that is over",
                 in->origin_id.rank, in->origin_id.index);
        return;
    }
    s->status = e.bytes <= s->posted ? TERN_OK : TERN_ERR_RANGE;
    s->moved = e.bytes;
}

size_t tern_rendezvous_consume(tern_worker *worker, tern_in *in) {
    uint64_t header = tern_ring_peek(worker, in);
    uint32_t type = tern_record_id(header);
    tern_status status = TERN_OK;
    if (!tern_ring_check(in, header) || type < TERN_OFFER_RECEIVE || type > TERN_END ||
        tern_record_bytes(header) != payload_bytes(type))
        status = TERN_ERR_RANGE;
    else if (type == TERN_END)
        meet_end(worker, in);
    else
        status = keep_offer(worker, in, type);
    if (status == TERN_ERR_RANGE)
        tern_ring_refuse(worker, in, header, "it is no valid record of a rendezvous");
    if (status != TERN_OK)
        return 0;
    tern_ring_advance(in, header);
    return 1;
}

static void discard_arrivals(tern_arrival *first) {
    while (first != NULL) {
        tern_arrival *a = first;
        first = a->next;
        free(a);
    }
}

void tern_rendezvous_discard(tern_worker *worker) {
    tern_notify *n = tern_notify_of(worker);
    tern_rendezvous *v = n->rendezvous;
    if (v == NULL)
        return;
    while (v->first != NULL) {
        tern_parcel *p = v->first;
        v->first = p->next;
        free(p);
    }
    for (int b = 0; b < TERN_TAG_BUCKETS; b++)
        discard_arrivals(v->bucket[b].first);
    free(v->slots);
    free(v->with);
    free(v);
    n->rendezvous = NULL;
}
