#include <stdlib.h>

#include "base/error.h"
#include "rma/message/inbox.h"
#include "rma/ring/frame.h"
#include "rma/memory/doorbell.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/reclaim.h"
#include "rma/ring/ring.h"
#include "rma/ring/sleep.h"
#include "rma/memory/rounds.h"
#include "rma/memory/state.h"
#include "src/log.h"
#include "src/progress/progress.h"

/*
 * How a worker consumes its rings. It polls its active rings. A ring that it found empty idle_polls
 * times in a row is marked idle and left to its doorbell, unless so few rings are active that
 * polling them is cheaper. A ring into which a network or MPI writes is left only after its origin
 * has agreed (rma/ring/sleep.h). So the cost of a round grows with the number of active senders,
 * not of ranks.
 */

#define RECLAIM_ROUNDS 64u /* in one of this many rounds the worker may ask for an idle ring */

/* An empty remote ring whose origin has not agreed to a sleep is polled in one of this many rounds,
 * unless few rings are active. */
#define RARE_ROUNDS 64u

static void poll_activate(tern_rma_worker *mine, tern_in *in) {
    if (in->active || in->closed)
        return;
    in->active = true;
    in->empty = 0;
    mine->active[in->channel].ring[mine->active[in->channel].count++] = in;
}

/* Makes the state of a ring from endpoint that begins at position 0. Takes it from the tables of
 * the rank or, when those are used up, from malloc. NULL: no memory; the worker rings its own
 * doorbell, so that a later round tries again. */
static tern_in *make_in(tern_worker *worker, uint32_t endpoint) {
    tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    const uint32_t total = context->size * context->workers, origin = endpoint % total;
    /* R4 */
    const uint32_t at = atomic_fetch_add_explicit(&rma->ins_used, 1, memory_order_relaxed);
    tern_in *in =
        at < rma->layout.ring_count ? &rma->ins[at] : aligned_alloc(TERN_LINE, sizeof(tern_in));
    if (in == NULL) {
        tern_doorbell_ring(tern_rma_worker_of(worker)->worker_page, rma->layout.doorbells,
                           endpoint);
        return NULL;
    }
    *in = (tern_in){.channel = endpoint / total,
                    .origin = origin,
                    .origin_id = {origin / context->workers, origin % context->workers},
                    .is_allocated = at >= rma->layout.ring_count};
    tern_reclaim_list(worker, in);
    return tern_rma_worker_of(worker)->in[endpoint] = in;
}

/* Accepts a ring that an origin has announced, in the worker's table or by messages. The table lies
 * in shared memory: the entry is read once and checked. */
static tern_in *accept_ring(tern_worker *worker, uint32_t endpoint) {
    tern_context *context = worker->context;
    tern_rma *rma = tern_rma_of(context);
    _Atomic uint64_t *table = (void *)(tern_rma_worker_of(worker)->worker_page + rma->layout.table);
    /* R1: ring_announce, tern_ring_grant */
    uint64_t entry = atomic_load_explicit(&table[endpoint], memory_order_acquire);
    tern_in *in = NULL;
    if (entry == 0) {
        if (tern_message_channel_has_begun(worker, endpoint) &&
            (in = make_in(worker, endpoint)) != NULL)
            tern_message_channel_take(worker, endpoint, in);
        return in;
    }
    uint32_t ring = (uint32_t)(entry - 1);
    tern_ring_header *header =
        entry <= rma->layout.ring_count ? tern_ring_header_at(context, context->rank, ring) : NULL;
    /* R6: take */
    if (header == NULL || atomic_load(&header->owner) != (uint64_t)endpoint + 1) {
        worker->stats.records_malformed++;
        tern_log(TERN_LOG_ERROR, "worker %u announced ring %llu, which is not its own",
                 endpoint % (context->size * context->workers), (unsigned long long)entry);
        return NULL;
    }
    in = make_in(worker, endpoint);
    if (in == NULL)
        return NULL;
    in->data = tern_ring_data_at(context, context->rank, ring);
    in->mask = context->config.ring_size - 1;
    in->header = header;
    in->ring = ring;
    in->transport = tern_transport_to(context, in->origin_id.rank);
    in->limit = in->transport->reads_own_frames ? 0 : UINT64_MAX;
    return in;
}

static void poll_report(tern_worker *worker, tern_in *in) {
    if (in->transport->report(worker, in) == TERN_OK)
        in->reported = in->position;
}

/* Reports the consumed position after a doorbell: an origin that has long waited for an answer or
 * for room rings the doorbell to learn how far its ring is consumed (rma/reply/answer.h). */
static void poll_tell(tern_worker *worker, tern_in *in) {
    if (in->transport == tern_rma_of(worker->context)->direct && in->position != in->reported &&
        !in->closed)
        poll_report(worker, in);
}

/* Takes the doorbells that have rung since the last round: accepts rings that are new, and polls
 * each ring whose doorbell has rung. */
static void hear_doorbells(tern_worker *worker) {
    tern_rma *rma = tern_rma_of(worker->context);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (!tern_doorbell_rung(mine->worker_page))
        return;
    if (tern_inbox_due(worker))
        tern_ring_warm(worker);
    _Atomic uint64_t *bits = (void *)(mine->worker_page + rma->layout.doorbells);
    uint32_t endpoints = tern_endpoint_of(worker->context, TERN_CHANNELS, 0);
    for (uint32_t w = 0; w < (endpoints + 63) / 64; w++) {
        /* R4 */
        if (atomic_load_explicit(&bits[w], memory_order_relaxed) == 0)
            continue;
        /* R8: tern_doorbell_ring */
        uint64_t rung = atomic_exchange_explicit(&bits[w], 0, memory_order_acquire);
        for (; rung != 0; rung &= rung - 1) {
            uint32_t endpoint = w * 64 + (uint32_t)__builtin_ctzll(rung);
            if (endpoint >= endpoints)
                continue;
            tern_in *in = mine->in[endpoint];
            if (in == NULL)
                in = accept_ring(worker, endpoint);
            if (in == NULL)
                continue;
            /* R4 */
            atomic_store_explicit(&in->header->idle, 0, memory_order_relaxed);
            poll_tell(worker, in);
            tern_sleep_woken(in);
            tern_reclaim_hear(worker, in);
            poll_activate(mine, in);
        }
    }
}

/* Marks the ring idle, then looks once more. False: the ring holds a record, and the mark is
 * cleared again. The membarrier ensures for every running sender that this look sees its header or
 * that the sender sees the mark. If context->fences is set, the sender's own fence ensures it. */
static bool may_sleep(tern_worker *worker, tern_in *in) {
    /* R3: tern_ring_publish_direct, tern_lane_send, tern_ring_append */
    atomic_store_explicit(&in->header->idle, 1, memory_order_seq_cst);
    tern_membarrier(worker->context);
    /* R3: tern_ring_publish_direct, tern_lane_send, tern_ring_append */
    atomic_thread_fence(memory_order_seq_cst);
    if (tern_ring_peek(worker, in) == 0)
        return true;
    /* R4 */
    atomic_store_explicit(&in->header->idle, 0, memory_order_relaxed);
    return false;
}

static bool is_credit_due(const tern_in *in) {
    return in->position - in->reported > in->mask / 2 && !in->closed;
}

bool tern_ring_rest(tern_worker *worker, tern_in *in, size_t active) {
    if (in->ending)
        tern_reclaim_leave(worker, in);
    if (in->empty < worker->context->config.idle_polls) {
        in->empty++;
        return false;
    }
    /* A ring whose credit is due stays active: its origin may be waiting for the credit. */
    if (active <= worker->context->config.active_rings || is_credit_due(in) ||
        !(in->transport->reads_own_frames ? tern_sleep_rest(worker, in) : may_sleep(worker, in)))
        return false;
    worker->stats.rings_idled++;
    in->active = false;
    return true;
}

void tern_ring_report(tern_worker *worker, tern_in *in) {
    if (is_credit_due(in))
        poll_report(worker, in);
}

bool tern_ring_pass(tern_worker *worker, tern_in *in, uint64_t header) {
    unsigned kind = tern_record_kind(header);
    if (kind == TERN_RECORD_SKIP && tern_ring_check(in, header)) {
        tern_ring_advance(in, header);
        tern_ring_report(worker, in);
        return true;
    }
    return kind == TERN_RECORD_MOVED && tern_ring_follow(worker, in, header);
}

/* Gives the record at the head of in, or several, to the handler of its kind. Returns how many
 * records were consumed. */
static size_t poll_consume(tern_worker *worker, tern_in *in, uint64_t header) {
    tern_rma *rma = tern_rma_of(worker->context);
    unsigned kind = tern_record_kind(header);
    if (tern_ring_pass(worker, in, header))
        return 1;
    if (kind >= TERN_RECORD_KINDS || rma->handler[kind] == NULL) {
        tern_ring_refuse(worker, in, header, "its kind is unknown");
        return 0;
    }
    size_t handled = rma->handler[kind](worker, in);
    worker->stats.records_received += handled;
    worker->stats.runs_received += handled > 0;
    /* The handler left the record in the ring. It may wait for room that the origin can only make
     * once it has more credit. So the worker tells the credit now, although it is less than half a
     * ring. */
    if (handled == 0 && in->position != in->reported && !in->closed)
        poll_report(worker, in);
    tern_ring_report(worker, in);
    return handled;
}

/* Asks MPI for messages. After one was served the worker stays warm: it asks in every round. If
 * all ranks share memory, only messages to inboxes are a reason to ask; the worker stays warm as
 * long as one is due. */
static size_t ask_mpi(tern_worker *worker, const tern_transport_ops *remote) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    size_t served = remote != NULL ? remote->poll(worker) : tern_message_poll(worker);
    mine->warm -= mine->warm > 0;
    if (served > 0 || (remote == NULL && mine->warm == 0 && tern_inbox_due(worker)))
        tern_ring_warm(worker);
    return served;
}

size_t tern_ring_poll(tern_worker *worker) {
    tern_context *context = worker->context;
    const tern_transport_ops *direct = tern_rma_of(context)->direct;
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    size_t events = 0;
    uint32_t round = mine->rounds++;
    tern_rounds_count(mine->worker_page, mine->rounds);
    hear_doorbells(worker);
    tern_reclaim_close(worker);
    if (round % RECLAIM_ROUNDS == 0)
        tern_reclaim_ask(worker);
    tern_in **ring = mine->active[TERN_CHANNEL_CALLS].ring;
    size_t *count = &mine->active[TERN_CHANNEL_CALLS].count;
    for (size_t i = 0; i < *count; i++) {
        tern_in *in = ring[i];
        bool idle = in->empty >= context->config.idle_polls;
        if (idle && *count > context->config.active_rings && in->transport->reads_own_frames &&
            round % RARE_ROUNDS != 0)
            continue;
        uint64_t header = tern_ring_peek(worker, in);
        if (header != 0) {
            in->streaming = in->empty == 0 && !mine->corked && in->transport == direct &&
                            in->origin != worker->id;
            in->empty = 0;
            if (in->transport != direct)
                tern_ring_warm(worker);
            events += poll_consume(worker, in, header);
        } else {
            /* Credit may still be due: a transport had no room for it, or only skipped bytes were
             * consumed. */
            tern_ring_report(worker, in);
            (void)tern_ring_rest(worker, in, *count);
        }
        if (in->closed || !in->active) {
            in->active = false;
            ring[i--] = ring[--*count];
        }
    }
    if (mine->pending != NULL)
        tern_ring_publish_pending(worker);
    const tern_transport_ops *remote = tern_rma_of(context)->remote;
    if (mine->warm > 0 ||
        (remote != NULL && (events > 0 || round % context->config.mpi_interval == 0)))
        events += ask_mpi(worker, remote);
    return events;
}

void tern_ring_refuse(tern_worker *worker, tern_in *in, uint64_t header, const char *what) {
    worker->stats.records_malformed++;
    in->closed = true;
    if (in->transport == tern_rma_of(worker->context)->direct)
        /* R4 */
        atomic_store_explicit(&in->header->consumed, TERN_CONSUMED_NEVER, memory_order_relaxed);
    tern_log(TERN_LOG_ERROR,
             "record %016llx from rank %u worker %u at position %llu is malformed: %s; its ring is "
             "closed",
             (unsigned long long)header, in->origin_id.rank, in->origin_id.index,
             (unsigned long long)in->position, what);
}

void tern_record_handle(tern_context *context, unsigned kind, tern_record_handler handler) {
    tern_rma_of(context)->handler[kind] = handler;
}
