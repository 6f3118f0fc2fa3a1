#include <stdlib.h>

#include "base/error.h"
#include "rma/message/inbox.h"
#include "rma/reply/reply.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/remote.h"
#include "rma/transport/remote.h"
#include "rma/memory/state.h"
#include "rma/transport/transport.h"
#include "src/peers/peers.h"

/*
 * p2p serves ranks of different nodes where MPI's one-sided operations are emulated. Every
 * operation is a message that the target's progress serves. Messages of a pair are served in order,
 * so a fence needs no action, and a flush is a question whose answer comes after all earlier
 * messages.
 */

#define PIECE ((size_t)1 << 30)

/* Puts as much as one message holds. wait: waits for a free send buffer. */
static tern_status put_piece(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                             uint64_t bytes, uint64_t *posted, bool wait) {
    size_t piece = bytes < TERN_MESSAGE_MAX ? bytes : TERN_MESSAGE_MAX;
    tern_message message = {
        .kind = TERN_MESSAGE_PUT, .origin = worker->id, .offset = offset, .bytes = piece};
    tern_status status = wait ? tern_message_send_all(worker, rank, &message, from, piece)
                              : tern_message_send(worker, rank, &message, from, piece);
    if (status != TERN_OK)
        return status;
    tern_dirty_mark(tern_rma_worker_of(worker), rank, TERN_DIRTY_RECORDS);
    worker->stats.bytes_staged += piece;
    *posted = piece;
    return TERN_OK;
}

/* The messages copy the source, so the transfer is complete at once. */
static tern_status p2p_put(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                           size_t bytes, tern_transfer *transfer) {
    (void)transfer;
    tern_rkey *rkey = NULL;
    tern_status status = tern_remote_key_hold(worker, rank, offset, bytes, &rkey);
    const char *source = from;
    for (uint64_t moved = 0, piece; status == TERN_OK && moved < bytes; moved += piece) {
        piece = 0;
        status =
            put_piece(worker, rank, offset + moved, source + moved, bytes - moved, &piece, true);
    }
    tern_remote_key_release(worker, rkey, false);
    return status;
}

static tern_status p2p_post(tern_worker *worker, uint32_t rank, uint64_t offset, const void *from,
                            uint64_t bytes, bool asks, uint64_t *posted) {
    (void)asks;
    tern_rkey *rkey = NULL;
    tern_status status = tern_remote_key_hold(worker, rank, offset, bytes, &rkey);
    if (status == TERN_OK)
        status = put_piece(worker, rank, offset, from, bytes, posted, false);
    tern_remote_key_release(worker, rkey, false);
    return status;
}

/* MPI counts in int, so a get is made in pieces of 1 GiB. This waits for all but the last. */
static tern_status p2p_get(tern_worker *worker, uint32_t rank, uint64_t offset, void *to,
                           size_t bytes, tern_transfer *transfer) {
    tern_message message = {
        .kind = TERN_MESSAGE_GET, .origin = worker->id, .offset = offset, .bytes = PIECE};
    MPI_Request receive;
    tern_rkey *rkey = NULL;
    char *memory = to;
    tern_status status = tern_remote_key_hold(worker, rank, offset, bytes, &rkey);
    for (; status == TERN_OK && bytes > PIECE; bytes -= PIECE, memory += PIECE) {
        status = tern_message_question(worker, rank, &message, memory, PIECE);
        message.offset += PIECE;
    }
    message.bytes = bytes;
    if (status == TERN_OK)
        status = tern_message_ask(worker, rank, &message, memory, bytes, &receive);
    if (status == TERN_OK)
        *transfer = (tern_transfer){
            .rank = rank, .under_way = true, .asked = rkey == NULL, .mpi = receive, .rkey = rkey};
    else
        tern_remote_key_release(worker, rkey, false);
    return status;
}

static tern_status p2p_flush(tern_worker *worker, uint32_t rank) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    if (mine->dirty[rank].what == 0)
        return TERN_OK;
    worker->stats.flushes++;
    tern_message message = {.kind = TERN_MESSAGE_FLUSH, .origin = worker->id};
    char nothing = 0;
    tern_status status = tern_message_question(worker, rank, &message, &nothing, 0);
    if (status == TERN_OK)
        tern_dirty_clear(mine, rank);
    return status;
}

static tern_status p2p_publish(tern_worker *worker, tern_out *out) {
    /* A frame takes one message, unless it is larger than a message or wraps. */
    while (out->lane.first != out->lane.write) {
        uint64_t at = out->lane.first & out->lane.mask, bytes = out->lane.write - out->lane.first;
        if (bytes > out->lane.mask + 1 - at)
            bytes = out->lane.mask + 1 - at;
        if (bytes > TERN_MESSAGE_MAX)
            bytes = TERN_MESSAGE_MAX;
        tern_message message = {.kind = TERN_MESSAGE_FRAME,
                                .origin = out->origin,
                                .target = out->target,
                                .offset = out->lane.first,
                                .bytes = bytes,
                                .operand = {(uint64_t)out->channel << 32 | out->ring,
                                            out->lane.first + bytes == out->lane.write}};
        tern_status status = tern_inbox_notice(worker, &message, out->lane.data + at, bytes);
        if (status != TERN_OK)
            return status;
        out->lane.first += bytes;
    }
    return TERN_OK;
}

static tern_status p2p_reply(tern_worker *worker, uint32_t target,
                             const tern_return_address *address, const tern_cell *image) {
    tern_message message = {
        .kind = TERN_MESSAGE_REPLY,
        .origin = worker->id,
        .target = target,
        .offset = address->cell,
        /* R5: tern_reply_send */
        .operand = {atomic_load_explicit(&image->sequence, memory_order_relaxed), image->status}};
    return tern_message_send_all(worker, tern_rank_of(worker->context, target), &message,
                                 image->payload, image->bytes);
}

tern_status tern_remote_transfer_test(tern_worker *worker, tern_transfer *transfer, int *done) {
    tern_status status = TERN_MPI_TO(worker->context, transfer->rank,
                                     PMPI_Test(&transfer->mpi, done, MPI_STATUS_IGNORE));
    if (status == TERN_OK && *done) {
        tern_remote_key_release(worker, transfer->rkey, false);
        transfer->rkey = NULL;
    }
    return status;
}

const tern_transport_ops tern_transport_p2p = {
    .name = TERN_P2P,
    .posts_in_order = true,
    .replies_compared = true,
    .put = p2p_put,
    .post = p2p_post,
    .get = p2p_get,
    .atomic = tern_message_atomic,
    .flush = p2p_flush,
    .test = tern_remote_transfer_test,
    .open = tern_ring_open_remote,
    .publish = p2p_publish,
    .consumed = tern_ring_consumed_remote,
    .report = tern_ring_report_remote,
    .reply = p2p_reply,
    .poll = tern_message_poll,
};
