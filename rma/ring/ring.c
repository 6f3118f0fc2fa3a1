#include "rma/port/port.h"
#include "rma/ring/ring.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/ring/frame.h"
#include "rma/memory/doorbell.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/sleep.h"
#include "rma/ring/remote.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/wait.h"

#define OPENING_NS UINT64_C(10000000000) /* the longest wait of tern_ring_await_opening */

size_t tern_ring_record_max(const tern_context *context) {
    return context->config.ring_size / 2 - 64;
}

/* Announces a claimed ring to the target worker: writes its table, then rings its doorbell. The
 * release store pairs with the acquire load in accept_ring. */
static void ring_announce(tern_context *context, uint32_t target, uint32_t endpoint,
                          uint32_t ring) {
    char *page = tern_worker_page(context, target);
    _Atomic uint64_t *table = (void *)(page + tern_rma_of(context)->layout.table);
    /* R1: accept_ring; the table first, then the doorbell */
    atomic_store_explicit(&table[endpoint], (uint64_t)ring + 1, memory_order_release);
    tern_doorbell_ring(page, tern_rma_of(context)->layout.doorbells, endpoint);
}

tern_status tern_ring_grant(tern_context *context, uint32_t channel, uint32_t origin,
                            uint32_t target_index, uint32_t pieces, uint64_t start,
                            uint32_t *ring) {
    uint32_t endpoint = tern_endpoint_of(context, channel, origin);
    const uint32_t target = context->rank * context->workers + target_index;
    char *page = tern_worker_page(context, target);
    _Atomic uint64_t *table = (void *)(page + tern_rma_of(context)->layout.table);
    /* The MOVED record, not the table, names a larger ring (start > 0) to the target. If the origin
     * asks twice for one, which is rare (rma/port/question.h), this takes memory twice. */
    if (start > 0)
        return tern_arena_claim(context, target, endpoint, pieces, start, ring);
    /* R4; the answer is a number */
    uint64_t entry = atomic_load_explicit(&table[endpoint], memory_order_relaxed);
    if (entry == 0) {
        tern_status status = tern_arena_claim(context, target, endpoint, 1, start, ring);
        if (status != TERN_OK)
            return status;
        /* R1: accept_ring; the table first, then the doorbell */
        if (atomic_compare_exchange_strong(&table[endpoint], &entry, (uint64_t)*ring + 1)) {
            tern_doorbell_ring(page, tern_rma_of(context)->layout.doorbells, endpoint);
            return TERN_OK;
        }
        tern_arena_release(context, *ring, tern_rma_of(context)->layout.ring_bytes);
    }
    *ring = (uint32_t)(entry - 1);
    return TERN_OK;
}

void tern_ring_use_direct(const tern_context *context, tern_out *out, uint32_t ring) {
    uint32_t rank = tern_rank_of(context, out->target);
    out->direct = true;
    out->ring = ring;
    out->lane.data = tern_ring_data_at(context, rank, ring);
    out->header = tern_ring_header_at(context, rank, ring);
    out->lane.idle = (const uint64_t *)(const void *)&out->header->idle;
}

tern_status tern_ring_open_direct(tern_worker *worker, tern_out *out) {
    tern_context *context = worker->context;
    uint32_t endpoint = tern_endpoint_of(context, out->channel, out->origin), ring;
    tern_status status = tern_arena_claim(context, out->target, endpoint, 1, 0, &ring);
    if (status != TERN_OK) {
        tern_error_clear();
        tern_message_channel_use(worker, out);
        return TERN_OK;
    }
    tern_ring_use_direct(context, out, ring);
    out->limit = out->lane.mask + 1;
    ring_announce(context, out->target, endpoint, ring);
    return TERN_OK;
}

tern_out tern_lent_ring;

tern_status tern_ring_opened(tern_worker *worker, tern_out *out) {
    if (!out->opening)
        return TERN_OK;
    tern_status status = out->transport->open(worker, out);
    if (status == TERN_ERR_AGAIN)
        return tern_fail(status, "the ring to worker %u is being set up", out->target);
    out->opening = status != TERN_OK;
    return status;
}

/* This waits only for a listener and a network, which themselves wait for nothing. If the target
 * process is stopped, the wait ends after OPENING_NS, ten seconds. */
tern_status tern_ring_await_opening(tern_worker *worker, tern_out *out) {
    const uint32_t rank = tern_rank_of(worker->context, out->target);
    const uint64_t end = tern_now() + OPENING_NS;
    tern_wait_state wait = TERN_WAIT_IN("the opening of a ring");
    tern_status status = TERN_ERR_AGAIN;
    if (out->transport->opens_alone == NULL || worker->in_handler || worker->in_progress)
        return status;
    while (status == TERN_ERR_AGAIN && out->transport->opens_alone(worker, out) &&
           tern_now() < end) {
        status = tern_wait_round(worker->context, &wait, out->transport->poll(worker), rank);
        if (status == TERN_OK)
            status = tern_ring_opened(worker, out);
    }
    if (status == TERN_OK)
        tern_error_clear_again();
    return status;
}

tern_status tern_ring_open_channel(tern_worker *worker, uint32_t channel, uint32_t target,
                                   tern_out **out) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    const tern_config *config = &worker->context->config;
    tern_out **slot = &mine->out[tern_endpoint_of(worker->context, channel, target)];
    tern_out *fresh = *slot;
    if (fresh == NULL) {
        fresh = aligned_alloc(TERN_LINE, sizeof *fresh);
        if (fresh == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for a ring");
        memset(fresh, 0, sizeof *fresh);
        fresh->channel = channel;
        fresh->origin = worker->id;
        fresh->target = target;
        fresh->open_question = TERN_QUESTION_NONE;
        fresh->lane.mask = config->ring_size - 1;
        fresh->transport =
            tern_transport_to(worker->context, tern_rank_of(worker->context, target));
        fresh->policy = (uint8_t)config->publish;
        if (channel == TERN_CHANNEL_CALLS && config->publish == TERN_PUBLISH_BATCHED)
            fresh->lane.gather = config->publish_bytes;
        tern_status status = fresh->transport->open(worker, fresh);
        if (status != TERN_OK && status != TERN_ERR_AGAIN) {
            free(fresh);
            return status;
        }
        fresh->opening = status == TERN_ERR_AGAIN;
        /* R1: tern_ring_at_rest */
        __atomic_store_n(slot, fresh, __ATOMIC_RELEASE);
        fresh->next = mine->outs;
        mine->outs = fresh;
        worker->stats.rings_opened++;
    }
    if (fresh == &tern_lent_ring)
        return tern_fail(TERN_ERR_AGAIN, "calls to worker %u wait for room; let progress run",
                         target);
    *out = fresh;
    return tern_ring_opened(worker, fresh);
}

/* Reads how far the target has consumed the ring, and moves the limit accordingly. */
static void refresh_limit(tern_worker *worker, tern_out *out) {
    uint64_t limit = out->transport->consumed(worker, out) + out->lane.mask + 1;
    /* An old or impossible value is ignored: the consumed position can never pass the write
     * position. */
    if (limit - out->limit <= out->lane.write - (out->limit - out->lane.mask - 1))
        out->limit = limit;
}

/* The short path does not wrap: it may write up to the end of the generation, and behind it the
 * zero word that ends the ring's content (8 bytes). If publishing needs a fence (context->fences),
 * the short path stays shut. */
void tern_ring_open_lane(const tern_worker *worker, tern_out *out) {
    if (!out->direct)
        return;
    uint64_t generation_end = (out->lane.write | out->lane.mask) + 1 + 8;
    bool shut = out->held || worker->context->fences || tern_ring_is_reserved(worker, out);
    out->lane.limit = shut ? 0 : out->limit < generation_end ? out->limit : generation_end;
}

void tern_ring_hold(tern_worker *worker, tern_out *out, bool held) {
    out->held = held;
    tern_ring_open_lane(worker, out);
}

void tern_ring_publish_direct(tern_worker *worker, tern_out *out) {
    /* R1: tern_ring_peek, tern_calls_execute */
    atomic_store_explicit(tern_out_word(out, out->lane.first), out->lane.first_header,
                          memory_order_release);
    out->lane.first_header = 0;
    if (__builtin_expect(worker->context->fences, 0))
        /* R3: may_sleep */
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    /* R3: may_sleep; the mark may be read early, since its membarrier comes between */
    if (__builtin_expect(atomic_load_explicit(&out->header->idle, memory_order_relaxed) != 0, 0))
        tern_ring_ring_doorbell(worker, out);
    tern_ring_open_lane(worker, out);
}

bool tern_ring_has_room(tern_worker *worker, tern_out *out, uint64_t bytes) {
    if (out->lane.write + bytes <= out->limit)
        return true;
    refresh_limit(worker, out);
    return out->lane.write + bytes <= out->limit;
}

/* Makes room for a record of size bytes in a ring without frames. If the rest of the generation is
 * too short for the record, a SKIP record covers that rest. The target can consume the SKIP before
 * the record is there. So a record needs at most half a ring of credit at once, and that much
 * always comes. */
static tern_status reserve_plain(tern_worker *worker, tern_out *out, uint64_t size) {
    uint64_t left = out->lane.mask + 1 - (out->lane.write & out->lane.mask);
    uint64_t spare = out->direct ? 8 : TERN_MOVE_ROOM;
    if (left < size) {
        if (!tern_ring_has_room(worker, out, left + spare))
            return TERN_ERR_AGAIN;
        tern_ring_commit(out, tern_record_header(TERN_RECORD_SKIP, 0, (size_t)left - 8));
    }
    return tern_ring_has_room(worker, out, size + spare) ? TERN_OK : TERN_ERR_AGAIN;
}

/* Makes room once, if no larger ring is under way. Allocates the staging memory of a message
 * channel at its first record. */
static tern_status ring_reserve(tern_worker *worker, tern_out *out, uint64_t size) {
    if (out->growth != TERN_GROWTH_NONE)
        return TERN_ERR_AGAIN;
    if (out->lane.data == NULL && tern_message_channel_stage(out) != TERN_OK)
        return TERN_ERR_MEMORY;
    return out->transport->reads_own_frames ? tern_frame_reserve(worker, out, size)
                                            : reserve_plain(worker, out, size);
}

tern_status tern_ring_try(tern_worker *worker, tern_out *out, size_t bytes, void **room) {
    uint64_t size = tern_record_size(bytes);
    if (__builtin_expect(tern_ring_is_reserved(worker, out), 0))
        return tern_reserved_fail(worker, "a request to the rank");
    tern_status status = ring_reserve(worker, out, size);
    if (status == TERN_ERR_AGAIN) {
        /* Publish first: the target can consume, and so make room, only up to the last published
         * record. The publish may also replace a message channel by a ring. */
        const uint32_t before = out->ring;
        tern_ring_publish(worker, out);
        status = out->ring != before ? TERN_OK : tern_ring_grow(worker, out);
        if (status == TERN_OK)
            status = ring_reserve(worker, out, size);
    }
    worker->stats.credits_waited += status == TERN_ERR_AGAIN;
    if (status == TERN_OK)
        *room = out->lane.data + (out->lane.write & out->lane.mask) + 8;
    return status;
}

tern_status tern_ring_reserve(tern_worker *worker, tern_out *out, size_t bytes, void **room) {
    if (bytes > tern_ring_record_max(worker->context))
        return tern_fail(
            TERN_ERR_RANGE,
            "a record of %zu bytes is too large: with TERN_RING_SIZE=%zu a record has at "
            "most %zu bytes; raise TERN_RING_SIZE",
            bytes, worker->context->config.ring_size, tern_ring_record_max(worker->context));
    tern_status status = tern_ring_try(worker, out, bytes, room);
    if (status == TERN_ERR_AGAIN)
        return tern_fail(status,
                         "the ring to worker %u is full; let progress run, or raise "
                         "TERN_RING_SIZE",
                         out->target);
    return status;
}

/* The reservation may have begun a frame, or covered the rest of the generation by a SKIP. */
void tern_ring_unreserve(tern_worker *worker, tern_out *out) {
    if (out->frame_open && out->lane.first_header == 0) {
        out->frame_open = false;
        out->lane.write -= TERN_FRAME_BYTES;
    }
    if (out->lane.first_header != 0)
        tern_ring_publish_due(worker, out);
    else
        tern_ring_open_lane(worker, out);
}

/* Lists the ring for progress, which will publish its records or send its WAKE. */
static void leave_to_progress(tern_worker *worker, tern_out *out) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (out->pending || out->lent)
        return;
    out->pending = true;
    out->next_pending = mine->pending;
    mine->pending = out;
    worker->view.unsent = 1;
}

void tern_ring_published(tern_worker *worker, tern_out *out) {
    out->lane.first_header = 0;
    worker->stats.frames_sent++;
    if (out->transport->reads_own_frames)
        tern_sleep_published(worker, out);
    if (out->ring == TERN_RING_NONE)
        tern_message_channel_published(worker, out);
    if (out->wake_due)
        leave_to_progress(worker, out);
}

void tern_ring_publish(tern_worker *worker, tern_out *out) {
    if (__builtin_expect(tern_ring_is_reserved(worker, out), 0)) {
        leave_to_progress(worker, out);
        return;
    }
    if (out->wake_due)
        tern_sleep_wake(worker, out);
    if (out->lane.first_header == 0) {
        if (out->wake_due)
            leave_to_progress(worker, out);
        return;
    }
    if (out->direct) {
        tern_ring_publish_direct(worker, out);
        return;
    }
    tern_ring_warm(worker);
    if (out->transport->publish(worker, out) == TERN_OK) {
        tern_ring_published(worker, out);
        return;
    }
    tern_error_clear(); /* progress tries again; a death is reported elsewhere */
    if (!tern_peer_is_dead(&worker->context->peers, tern_rank_of(worker->context, out->target)))
        leave_to_progress(worker, out);
}

void tern_ring_lend(tern_worker *worker, tern_out *out) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_out **link = &mine->pending;
    while (out->pending && *link != out)
        link = &(*link)->next_pending;
    if (out->pending)
        *link = out->next_pending;
    out->pending = false;
    out->lent = true;
    tern_frame_hand_over(worker, out);
    /* R1: tern_ring_at_rest */
    __atomic_store_n(&mine->out[tern_endpoint_of(worker->context, out->channel, out->target)],
                     &tern_lent_ring, __ATOMIC_RELEASE);
}

void tern_ring_give_back(tern_worker *worker, tern_out *out) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    /* R1: tern_ring_at_rest */
    __atomic_store_n(&mine->out[tern_endpoint_of(worker->context, out->channel, out->target)], out,
                     __ATOMIC_RELEASE);
    out->lent = false;
    tern_ring_open_lane(worker, out); /* unless a call to its target is being built */
    if (out->lane.first_header != 0 || out->wake_due)
        leave_to_progress(worker, out);
}

tern_out *tern_ring_at_rest(const tern_worker *worker, uint32_t endpoint) {
    /* R1: tern_ring_open_channel, tern_ring_lend, tern_ring_give_back */
    tern_out *out = __atomic_load_n(&tern_rma_worker_of(worker)->out[endpoint], __ATOMIC_ACQUIRE);
    return out == &tern_lent_ring ? NULL : out;
}

static bool ring_is_due(const tern_out *out) {
    return out->lane.write - out->lane.first >= out->lane.gather;
}

void tern_ring_publish_due(tern_worker *worker, tern_out *out) {
    if (ring_is_due(out) && (out->direct || !tern_rma_worker_of(worker)->corked)) {
        tern_ring_publish(worker, out);
    } else {
        tern_ring_open_lane(worker, out);
        leave_to_progress(worker, out);
    }
}

void tern_ring_attend(tern_worker *worker, tern_out *out) {
    if (out->lane.first_header != 0)
        leave_to_progress(worker, out);
    else
        tern_ring_ring_doorbell(worker, out);
}

/* Whether out is a ring to rank; TERN_ANYBODY: to any rank. */
static bool ring_leads_to(const tern_worker *worker, const tern_out *out, uint32_t rank) {
    return rank == TERN_ANYBODY || tern_rank_of(worker->context, out->target) == rank;
}

uint32_t tern_ring_unpublished(const tern_worker *worker, uint32_t rank) {
    for (const tern_out *out = tern_rma_worker_of(worker)->pending; out != NULL;
         out = out->next_pending)
        if (ring_leads_to(worker, out, rank) && (out->lane.first_header != 0 || out->wake_due))
            return tern_rank_of(worker->context, out->target);
    return TERN_NOBODY;
}

/* Publishes the pending rings to rank. patient: skips a ring that is below its threshold and got
 * new records since the last round. A ring that got none between two rounds is published, so that
 * neither a wait nor handlers that never pause keep records back for ever. */
static void publish_pending(tern_worker *worker, bool patient, uint32_t rank) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_out *out = mine->pending;
    if (out == NULL)
        return;
    mine->pending = NULL;
    tern_port_gather(worker, true);
    while (out != NULL) {
        tern_out *next = out->next_pending;
        out->pending = false;
        if (!ring_leads_to(worker, out, rank)) {
            leave_to_progress(worker, out);
            out = next;
            continue;
        }
        bool grows = out->looked != out->lane.write && !ring_is_due(out);
        out->looked = out->lane.write;
        if (patient && grows && out->lane.first_header != 0)
            leave_to_progress(worker, out);
        else
            tern_ring_publish(worker, out);
        out = next;
    }
    tern_port_gather(worker, false);
}

void tern_ring_publish_pending(tern_worker *worker) {
    if (!tern_rma_worker_of(worker)->corked)
        publish_pending(worker, true, TERN_ANYBODY);
}

void tern_ring_publish_to(tern_worker *worker, uint32_t rank) {
    publish_pending(worker, false, rank);
}

void tern_ring_publish_all(tern_worker *worker) { tern_ring_publish_to(worker, TERN_ANYBODY); }

void tern_ring_cork(tern_worker *worker) { tern_rma_worker_of(worker)->corked = true; }

void tern_ring_uncork(tern_worker *worker) {
    tern_rma_worker_of(worker)->corked = false;
    publish_pending(worker, true, TERN_ANYBODY);
    tern_port_gather(worker, false);
}

void tern_ring_ring_doorbell(tern_worker *worker, tern_out *out) {
    worker->stats.doorbells_rung++;
    tern_doorbell_ring(tern_worker_page(worker->context, out->target),
                       tern_rma_of(worker->context)->layout.doorbells,
                       tern_endpoint_of(worker->context, out->channel, out->origin));
}

void tern_ring_append(tern_context *context, const tern_ring_memory *memory, uint64_t position,
                      const char *records, size_t bytes, bool last) {
    tern_ring_header *header = memory->header;
    char *data = memory->data;
    const uint64_t mask = memory->bytes - 1;
    /* published[0] holds the position where the unfinished frame begins, published[1] the withheld
     * header of its first record. Otherwise only rma uses the two words, so they are free here. If
     * another rank has overwritten published[0], it still leads to some word inside the ring. */
    /* R9: tern_mpi_lock */
    uint64_t first =
        atomic_load_explicit(&header->published[0], memory_order_relaxed) & ~(uint64_t)7;
    uint64_t first_header = atomic_load_explicit(&header->published[1], memory_order_relaxed);
    if (first_header == 0) {
        memcpy(&first_header, records, sizeof first_header);
        first = position;
        memcpy(data + (position & mask) + 8, records + 8, bytes - 8);
    } else {
        memcpy(data + (position & mask), records, bytes);
    }
    if (last) {
        /* R9: tern_ring_append; before its release store */
        atomic_store_explicit(tern_ring_word(data, mask, position + bytes), 0,
                              memory_order_relaxed);
        /* R1: tern_ring_peek */
        atomic_store_explicit(tern_ring_word(data, mask, first), first_header,
                              memory_order_release);
        first_header = 0;
        /* R3: may_sleep */
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load_explicit(&header->idle, memory_order_relaxed) != 0) {
            uint32_t target = context->rank * context->workers + memory->target_index;
            tern_doorbell_ring(tern_worker_page(context, target),
                               tern_rma_of(context)->layout.doorbells, memory->endpoint);
        }
    }
    /* R9: tern_mpi_lock */
    atomic_store_explicit(&header->published[0], first, memory_order_relaxed);
    atomic_store_explicit(&header->published[1], first_header, memory_order_relaxed);
}

/* Waits for the answers, since MPI writes them into the rings' states, which must not be freed
 * before they have come. */
tern_status tern_ring_settle(tern_worker *worker) {
    tern_context *context = worker->context;
    for (tern_out *out = tern_rma_worker_of(worker)->outs; out != NULL; out = out->next) {
        if (out->direct || (!out->opening && out->growth != TERN_GROWTH_ASKED))
            continue;
        tern_wait_state wait = TERN_WAIT_START;
        uint32_t ring;
        while (tern_ring_asked_remote(worker, out, &ring) == TERN_ERR_AGAIN) {
            tern_progress_round(worker);
            tern_status status = tern_wait_step(context, &wait, tern_rank_of(context, out->target));
            if (status != TERN_OK)
                return status;
        }
    }
    return TERN_OK;
}
