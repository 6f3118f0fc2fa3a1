#include <stddef.h>

#include "base/error.h"
#include "rma/port/port.h"
#include "rma/reply/reply.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/frame.h"
#include "rma/memory/state.h"
#include "rma/ring/remote.h"
#include "rma/transport/posts.h"
#include "rma/transport/remote.h"
#include "rma/transport/transport.h"
#include "src/progress/wait.h"

/*
 * native serves ranks of different nodes by an RDMA network, without MPI. Each worker posts
 * operations at its own port. A completed operation has landed in the target's memory, so a flush
 * waits until no operation is under way.
 */

static tern_status may_reach(const tern_worker *worker, uint32_t rank) {
    return tern_peer_is_dead(&worker->context->peers, rank) ? tern_peer_fail(rank) : TERN_OK;
}

static tern_status card_works(const tern_worker *worker) {
    return tern_native_works(tern_rma_of(worker->context)->native);
}

static size_t native_poll(tern_worker *worker) {
    return tern_port_poll(worker) + tern_message_poll(worker);
}

/* Starts the rest of a move; waits for room if need be. */
static tern_status start_all(tern_worker *worker, const tern_move *move, uint64_t *moved,
                             tern_posting **whole) {
    tern_wait_state wait = TERN_WAIT_IN("a transfer over the network");
    if (*moved == move->bytes)
        return TERN_OK;
    tern_status status = may_reach(worker, move->rank);
    while (status == TERN_OK && *moved < move->bytes) {
        status = tern_port_start(worker, move, moved, whole);
        if (status == TERN_ERR_AGAIN)
            status = tern_wait_round(worker->context, &wait, native_poll(worker), move->rank);
    }
    if (status != TERN_OK && *whole != NULL)
        tern_posting_abandon(worker, *whole, true);
    else if (status != TERN_OK)
        tern_remote_key_release(worker, move->rkey, false);
    return status;
}

/* Starts a move from its beginning; waits for room if need be. [out] whole: the posting, if
 * move->kept. */
static tern_status start(tern_worker *worker, tern_move *move, tern_posting **whole) {
    uint64_t moved = 0;
    *whole = NULL;
    tern_status status =
        tern_remote_key_hold(worker, move->rank, move->offset, move->bytes, &move->rkey);
    return status == TERN_OK ? start_all(worker, move, &moved, whole) : status;
}

/* Starts a move to the segment without waiting for room for its first part. Once a part has begun,
 * the rest follows, with waits if need be: a caller that tried again would put that part twice, and
 * the second put could overtake a later one. TERN_ERR_AGAIN: nothing has begun. */
static tern_status start_without_wait(tern_worker *worker, const tern_move *move,
                                      tern_posting **whole) {
    uint64_t moved = 0;
    *whole = NULL;
    tern_status status = may_reach(worker, move->rank);
    if (status == TERN_OK)
        status = tern_port_start(worker, move, &moved, whole);
    return status == TERN_OK ? start_all(worker, move, &moved, whole) : status;
}

static tern_status wait_for(tern_worker *worker, uint32_t rank, tern_posting *whole) {
    tern_wait_state wait = TERN_WAIT_IN("a transfer over the network");
    while (!tern_posting_landed(whole)) {
        const size_t found = tern_progress_round(worker) + native_poll(worker);
        tern_status status = TERN_OK;
        if (!tern_posting_landed(whole))
            status = tern_wait_round(worker->context, &wait, found, rank);
        if (status == TERN_OK && !tern_posting_landed(whole))
            status = card_works(worker);
        if (status != TERN_OK) {
            tern_posting_abandon(worker, whole, false);
            return status;
        }
    }
    return tern_posting_end(worker, whole);
}

/* A put that its caller does not test returns when its source may be reused. So it is copied if
 * that takes less time than to wait until it has landed. Of other puts only small ones are copied.
 */
static tern_status native_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                              size_t bytes, tern_transfer *transfer) {
    const bool copied = bytes <= (transfer == NULL ? TERN_COPY_MAX : TERN_POSTING_COPY);
    tern_move move = {.act = TERN_NETWORK_WRITE,
                      .copied = copied,
                      .kept = !copied,
                      .rank = rank,
                      .offset = offset,
                      .here = (void *)(uintptr_t)from,
                      .bytes = bytes};
    tern_posting *whole;
    tern_status status = start(worker, &move, &whole);
    if (status != TERN_OK)
        return status;
    tern_dirty_mark(tern_rma_worker_of(worker), rank, TERN_DIRTY_RECORDS);
    if (copied)
        return TERN_OK;
    if (transfer == NULL)
        return wait_for(worker, rank, whole);
    *transfer = (tern_transfer){.rank = rank, .under_way = true, .flies = true, .posting = whole};
    return TERN_OK;
}

static tern_status native_get(tern_worker *worker, uint32_t rank, uint64_t offset, void *to,
                              size_t bytes, tern_transfer *transfer) {
    tern_move move = {
        .kept = true, .again = true, .rank = rank, .offset = offset, .here = to, .bytes = bytes};
    tern_posting *whole;
    tern_status status = start(worker, &move, &whole);
    if (status == TERN_OK)
        *transfer =
            (tern_transfer){.rank = rank, .under_way = true, .flies = true, .posting = whole};
    return status;
}

/* Tests a transfer. An atomic may be a message to its owner; such transfers are tested as those of
 * MPI. */
static tern_status native_test(tern_worker *worker, tern_transfer *transfer, int *done) {
    if (!transfer->flies)
        return tern_remote_transfer_test(worker, transfer, done);
    if (!tern_posting_landed(transfer->posting))
        tern_port_poll(worker);
    *done = tern_posting_landed(transfer->posting);
    if (*done)
        return tern_posting_end(worker, transfer->posting);
    const tern_status status = card_works(worker);
    *done = status != TERN_OK;
    if (*done)
        tern_posting_abandon(worker, transfer->posting, false);
    return status;
}

static tern_status native_act(tern_worker *worker, uint32_t rank, uint64_t offset,
                              tern_network_act act, unsigned width, tern_network_words *words) {
    tern_move move = {.act = act,
                      .copied = true,
                      .kept = true,
                      .rank = rank,
                      .offset = offset,
                      .here = words,
                      .bytes = width};
    tern_posting *whole;
    tern_status status = start(worker, &move, &whole);
    return status == TERN_OK ? wait_for(worker, rank, whole) : status;
}

/* The new value of a word. */
static uint64_t atomic_result(tern_atomic_op op, uint64_t before, uint64_t operand) {
    switch (op) {
    case TERN_ATOMIC_AND:
        return before & operand;
    case TERN_ATOMIC_OR:
        return before | operand;
    case TERN_ATOMIC_XOR:
        return before ^ operand;
    default:
        return operand;
    }
}

/* Atomics of 4 bytes, of which a network has none: the processors of the owner's node apply all of
 * them, so they are atomic with each other. */
static tern_status narrow_atomic(tern_worker *worker, uint32_t rank, uint64_t offset,
                                 tern_atomic_op op, uint64_t operand, uint64_t expected,
                                 uint64_t *old) {
    char *segment = tern_rma_of(worker->context)->segment[rank].base;
    if (segment == NULL)
        return tern_message_atomic(worker, rank, offset, op, 4, operand, expected, old);
    *old = tern_atomic_apply(segment + offset, op, 4, operand, expected);
    return TERN_OK;
}

/* A network has only fetch-and-add and compare-and-swap; other atomics are loops of these. */
static tern_status native_atomic(tern_worker *worker, uint32_t rank, uint64_t offset,
                                 tern_atomic_op op, unsigned width, uint64_t operand,
                                 uint64_t expected, uint64_t *old) {
    tern_network_words words = {0, op == TERN_ATOMIC_ADD ? operand : 0, 0};
    const tern_native *native = tern_rma_of(worker->context)->native;
    if (!native->atomics)
        return tern_message_atomic(worker, rank, offset, op, width, operand, expected, old);
    if (width == 4 && !native->network->has_narrow)
        return narrow_atomic(worker, rank, offset, op, operand, expected, old);
    tern_status status = TERN_OK;
    if (op == TERN_ATOMIC_CAS) {
        words = (tern_network_words){0, operand, expected};
        status = native_act(worker, rank, offset, TERN_NETWORK_CAS, width, &words);
    } else {
        status = native_act(worker, rank, offset, TERN_NETWORK_ADD, width, &words);
        bool done = op == TERN_ATOMIC_ADD || op == TERN_ATOMIC_LOAD;
        while (status == TERN_OK && !done) {
            const uint64_t before = words.old;
            words = (tern_network_words){0, atomic_result(op, before, operand), before};
            status = native_act(worker, rank, offset, TERN_NETWORK_CAS, width, &words);
            done = words.old == before;
        }
    }
    *old = words.old;
    return status;
}

/* Posts as much as one operation of the network takes. */
static tern_status native_post(tern_worker *worker, uint32_t rank, uint64_t offset,
                               const void *from, uint64_t bytes, bool asks, uint64_t *posted) {
    tern_move move = {.act = TERN_NETWORK_WRITE,
                      .loss = asks ? TERN_LOSS_ASKED : TERN_LOSS_FLUSH,
                      .rank = rank,
                      .offset = offset,
                      .here = (void *)(uintptr_t)from,
                      .bytes = bytes};
    tern_posting *whole = NULL;
    uint64_t moved = 0;
    tern_status status = may_reach(worker, rank);
    if (status == TERN_OK)
        status = tern_remote_key_hold(worker, rank, offset, bytes, &move.rkey);
    if (status != TERN_OK)
        return status;
    status = tern_port_start(worker, &move, &moved, &whole);
    if (status != TERN_OK) {
        tern_remote_key_release(worker, move.rkey, false);
        return status == TERN_ERR_AGAIN
                   ? tern_fail(
                         status,
                         "the network has no room for an operation on rank %u; let progress run",
                         rank)
                   : status;
    }
    if (moved < bytes)
        tern_posting_abandon(worker, whole, true);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    tern_dirty_mark(mine, rank, TERN_DIRTY_RECORDS);
    mine->posts[rank].open++;
    *posted = moved;
    return TERN_OK;
}

/* Waits until no operation is under way to rank. Like all flushes, this serves no messages. */
static tern_status land_all(tern_worker *worker, uint32_t rank) {
    tern_wait_state wait = TERN_WAIT_IN("a flush of the network");
    tern_status status = may_reach(worker, rank);
    tern_port_hasten(worker, rank);
    while (status == TERN_OK && tern_port_under_way(worker, rank) > 0) {
        status = tern_wait_round(worker->context, &wait, tern_port_poll(worker), rank);
        if (status == TERN_OK && tern_port_under_way(worker, rank) > 0)
            status = card_works(worker);
    }
    if (status == TERN_OK)
        tern_posts_flushed(&tern_rma_worker_of(worker)->posts[rank]);
    return status;
}

static tern_status native_settle(tern_worker *worker, uint32_t rank) {
    worker->stats.settles++;
    return land_all(worker, rank);
}

static tern_status native_flush(tern_worker *worker, uint32_t rank) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->dirty[rank].what == 0)
        return TERN_OK;
    worker->stats.flushes++;
    tern_status status = land_all(worker, rank);
    if (status == TERN_OK && !tern_port_is_untold(worker, rank))
        tern_dirty_clear(mine, rank);
    return status;
}

/* Opens a ring, and with it the connection to the rank and the rkey of the ring. A message channel
 * needs no access to the target's memory. */
static tern_status native_open_ring(tern_worker *worker, tern_out *out) {
    const tern_layout *layout = &tern_rma_of(worker->context)->layout;
    const uint32_t rank = tern_rank_of(worker->context, out->target);
    tern_status status = tern_port_meet(worker, rank, 0);
    if (status == TERN_OK)
        status = tern_ring_open_remote(worker, out);
    if (status != TERN_OK || out->ring == TERN_RING_NONE)
        return status;
    return tern_port_meet(worker, rank, layout->arena + out->ring * layout->ring_bytes);
}

static bool native_opens_alone(const tern_worker *worker, const tern_out *out) {
    return tern_port_meets_alone(worker, tern_rank_of(worker->context, out->target)) &&
           !tern_question_goes_by_message(&out->open_question);
}

/* Puts the open frame by one put. Its staging memory is not written again until the generation is
 * settled. */
static tern_status native_publish(tern_worker *worker, tern_out *out) {
    const tern_layout *layout = &tern_rma_of(worker->context)->layout;
    const uint64_t at = out->frame & out->lane.mask;
    const tern_move move = {.act = TERN_NETWORK_WRITE,
                            .again = true, /* may be repeated, since a frame carries its position */
                            .rank = tern_rank_of(worker->context, out->target),
                            .offset = layout->arena + out->ring * layout->ring_bytes + at,
                            .here = out->lane.data + at,
                            .bytes = tern_frame_seal(worker, out)};
    tern_posting *whole;
    tern_status status = start_without_wait(worker, &move, &whole);
    if (status != TERN_OK)
        return status;
    tern_dirty_mark(tern_rma_worker_of(worker), move.rank, TERN_DIRTY_RECORDS);
    out->lane.write += out->frame_skip;
    out->frame_open = false;
    return TERN_OK;
}

/* Only one credit of a ring is under way at a time, so an older one never arrives after a newer. */
static tern_status native_report(tern_worker *worker, tern_in *in) {
    const tern_context *context = worker->context;
    if (!tern_ring_credit_ended(worker, in))
        return TERN_ERR_AGAIN;
    uint64_t words[2] = {in->position, ~in->position};
    _Static_assert(sizeof words == offsetof(tern_credit, told), "they are a credit");
    const tern_move move = {.act = TERN_NETWORK_WRITE,
                            .copied = true,
                            .kept = true,
                            .again = true,
                            .rank = in->origin_id.rank,
                            .offset = tern_worker_page_offset(context, in->origin) +
                                      tern_rma_of(context)->layout.credits +
                                      tern_endpoint_of(context, in->channel, worker->id) *
                                          sizeof(tern_credit),
                            .here = words,
                            .bytes = sizeof words};
    tern_posting *whole;
    tern_status status = start_without_wait(worker, &move, &whole);
    if (status == TERN_OK)
        in->credit = whole;
    return status;
}

static uint64_t native_consumed(tern_worker *worker, const tern_out *out) {
    const tern_credit *credit = tern_ring_credit(worker, out);
    /* R1: native_report; put by the network, and what is told to be consumed has been read */
    const uint64_t position = atomic_load_explicit(&credit->position, memory_order_acquire);
    const uint64_t complement = atomic_load_explicit(&credit->complement, memory_order_acquire);
    return position == ~complement ? position : 0; /* 0 is ignored as an old position */
}

static tern_status native_reply(tern_worker *worker, uint32_t target,
                                const tern_return_address *address, const tern_cell *image) {
    tern_context *context = worker->context;
    tern_cell checked;
    const uint64_t bytes = offsetof(tern_cell, payload) + image->bytes;
    _Static_assert(sizeof checked <= TERN_POSTING_COPY, "a posting has room for a reply");
    memcpy(&checked, image, bytes);
    /* R5: tern_reply_send */
    atomic_store_explicit(&checked.sequence,
                          atomic_load_explicit(&image->sequence, memory_order_relaxed) |
                              TERN_REPLY_CHECKED,
                          memory_order_relaxed);
    checked.check = tern_reply_checksum(context, &checked);
    const tern_answer_to answer = {target, address->cell};
    const tern_move move = {.act = TERN_NETWORK_WRITE,
                            .copied = true,
                            .rank = tern_rank_of(context, target),
                            .offset = tern_reply_offset(context, target, address),
                            .here = &checked,
                            .bytes = bytes,
                            .answer = &answer};
    tern_posting *whole = NULL;
    uint64_t moved = 0;
    return start_all(worker, &move, &moved, &whole);
}

/* The functions of both networks; only the name differs. */
#define NATIVE_OPS                                                                                 \
    .reads_own_frames = true, .puts_outlive = true, .settles_own = true, .put = native_put,        \
    .post = native_post, .get = native_get, .atomic = native_atomic, .flush = native_flush,        \
    .settle = native_settle, .test = native_test, .open = native_open_ring,                        \
    .opens_alone = native_opens_alone, .publish = native_publish, .consumed = native_consumed,     \
    .report = native_report, .reply = native_reply, .poll = native_poll

const tern_transport_ops tern_transport_ofi = {.name = TERN_OFI, NATIVE_OPS};
const tern_transport_ops tern_transport_verbs = {.name = TERN_VERBS, NATIVE_OPS};
