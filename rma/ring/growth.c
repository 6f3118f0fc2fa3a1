#include "rma/ring/ring.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/ring/frame.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/remote.h"
#include "rma/memory/state.h"

/* After a target has refused a larger ring, the origin asks again when it has found the ring full
 * this many times. */
#define GROW_AGAIN 4096u

static bool is_framed(const tern_out *out) { return out->transport->reads_own_frames; }

/* Returns the size of the ring that replaces this one. */
static uint64_t next_bytes(const tern_worker *worker, const tern_out *out) {
    return out->ring == TERN_RING_NONE ? worker->context->config.ring_size
                                       : (out->lane.mask + 1) * 2;
}

static bool is_to_direct_rank(const tern_worker *worker, const tern_out *out) {
    return tern_rank_is_direct(worker->context, tern_rank_of(worker->context, out->target));
}

/* Returns how many bytes the MOVED record takes, with the header of its frame. */
static uint64_t move_bytes(const tern_out *out) {
    return 8 + (is_framed(out) ? TERN_FRAME_BYTES : 0);
}

/* Whether the ring may be replaced now: a replacement is allowed, no record is withheld, and the
 * MOVED record has room. */
static bool may_grow(tern_worker *worker, tern_out *out) {
    const tern_config *config = &worker->context->config;
    uint64_t size = out->lane.mask + 1, at = out->lane.write & out->lane.mask;
    const bool allowed = out->ring == TERN_RING_NONE
                             ? tern_message_channel_wants_ring(out)
                             : size < config->ring_size * config->ring_growth;
    if (out->lane.first_header != 0 || !allowed)
        return false;
    if (is_framed(out) &&
        (size - at < move_bytes(out) || out->lane.write / size != out->generation))
        return false;
    return tern_ring_has_room(worker, out, out->direct ? 8 : TERN_MOVE_ROOM);
}

/* Takes the larger ring if the target's memory is mapped; otherwise asks the target for it.
 * TERN_ERR_AGAIN: could not ask now. */
static tern_status growth_ask(tern_worker *worker, tern_out *out) {
    tern_context *context = worker->context;
    const uint64_t bytes = next_bytes(worker, out), start = out->lane.write + move_bytes(out);
    uint32_t pieces = (uint32_t)(bytes / context->config.ring_size);
    if (is_to_direct_rank(worker, out))
        return tern_arena_claim(context, out->target,
                                tern_endpoint_of(context, out->channel, out->origin), pieces, start,
                                &out->next_ring);
    if (out->next_data == NULL)
        out->next_data = malloc(bytes);
    if (out->next_data == NULL)
        return TERN_ERR_MEMORY;
    return tern_ring_ask_remote(worker, out, pieces, start);
}

/* Commits the MOVED record, the last one of the old ring. */
static void commit_move(tern_out *out) {
    uint64_t header = tern_record_header(TERN_RECORD_MOVED, out->next_ring, 0);
    if (is_framed(out))
        tern_frame_open(out);
    if (!out->direct)
        /* R9: tern_frame_seal; put by MPI with its frame */
        atomic_store_explicit(tern_out_word(out, out->lane.write), header, memory_order_relaxed);
    out->lane.first = out->lane.write;
    out->lane.first_header = header;
    out->lane.limit = 0;
    out->lane.write += 8;
}

/* Makes the origin write into the new ring. The origin does so at once; the target changes to the
 * new ring only when it has read all of the old one. */
static tern_status growth_leave(tern_worker *worker, tern_out *out) {
    tern_context *context = worker->context;
    const uint64_t bytes = next_bytes(worker, out);
    const bool is_first = bytes == context->config.ring_size;
    /* MPI may still read the old staging memory. */
    tern_status status = is_framed(out) ? tern_frame_settle(worker, out) : TERN_OK;
    if (status != TERN_OK)
        return status;
    if (!out->direct)
        free(out->lane.data);
    if (is_to_direct_rank(worker, out)) {
        tern_ring_use_direct(context, out, out->next_ring);
    } else {
        out->lane.data = out->next_data;
        out->next_data = NULL;
        out->ring = out->next_ring;
    }
    out->transport = tern_transport_to(context, tern_rank_of(context, out->target));
    worker->stats.rings_outgrown += bytes == context->config.ring_size * 2;
    out->lane.mask = bytes - 1;
    out->limit = out->lane.write + bytes;
    out->generation = out->lane.write / bytes;
    out->growth = TERN_GROWTH_NONE;
    tern_ring_open_lane(worker, out);
    worker->stats.rings_grown += !is_first;
    return TERN_OK;
}

tern_status tern_ring_grow(tern_worker *worker, tern_out *out) {
    tern_status status = TERN_OK;
    if (out->growth == TERN_GROWTH_NONE) {
        if (out->grow_wait > 0) {
            out->grow_wait--;
            return TERN_ERR_AGAIN;
        }
        if (!may_grow(worker, out))
            return TERN_ERR_AGAIN;
        status = growth_ask(worker, out);
        if (status == TERN_ERR_AGAIN)
            return status;
        out->growth = TERN_GROWTH_ASKED;
    }
    if (out->growth == TERN_GROWTH_ASKED) {
        if (status == TERN_OK && !is_to_direct_rank(worker, out))
            status = tern_ring_asked_remote(worker, out, &out->next_ring);
        if (status == TERN_ERR_AGAIN)
            return status;
        if (status != TERN_OK) {
            /* No larger ring could be had: the ring keeps its size. */
            tern_error_clear();
            free(out->next_data);
            out->next_data = NULL;
            out->growth = TERN_GROWTH_NONE;
            out->grow_wait = out->ring == TERN_RING_NONE ? 0 : GROW_AGAIN;
            return TERN_ERR_AGAIN;
        }
        commit_move(out);
        out->growth = TERN_GROWTH_MOVING;
    }
    tern_ring_publish(worker, out);
    return out->lane.first_header == 0 ? growth_leave(worker, out) : TERN_ERR_AGAIN;
}

/* Over a transport with frames this is called only after the larger ring has brought its first
 * frame: until the origin has put that frame, the network may still repeat a lost put into the old
 * ring. */
void tern_ring_leave_old(tern_context *context, tern_in *in) {
    tern_arena_release(context, in->left, in->left_bytes);
    in->left_bytes = 0;
}

bool tern_ring_follow(tern_worker *worker, tern_in *in, uint64_t header) {
    tern_context *context = worker->context;
    uint32_t ring = tern_record_id(header);
    const bool by_message = in->ring == TERN_RING_NONE;
    const uint64_t bytes = by_message ? context->config.ring_size : (in->mask + 1) * 2;
    uint32_t endpoint = tern_endpoint_of(context, in->channel, in->origin);
    if (!tern_ring_check(in, header) ||
        !tern_arena_is_of(context, endpoint, ring, bytes / context->config.ring_size))
        return false;
    tern_ring_advance(in, header);
    if (by_message) {
        in->transport = tern_transport_to(context, in->origin_id.rank);
        in->limit = in->transport->reads_own_frames ? in->position : UINT64_MAX;
    } else {
        in->left = in->ring;
        in->left_bytes = in->mask + 1;
        if (!in->transport->reads_own_frames)
            tern_ring_leave_old(context, in);
    }
    in->ring = ring;
    in->data = tern_ring_data_at(context, context->rank, ring);
    in->mask = bytes - 1;
    in->header = tern_ring_header_at(context, context->rank, ring);
    in->reported = in->position;
    return true;
}
