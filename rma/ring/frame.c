#include "rma/ring/frame.h"

#include <stddef.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/ring/ring.h"
#include "rma/memory/state.h"

/* Returns the checksum of a frame. The position, the lengths and the pair are mixed into the seed,
 * which saves a second pass over the header. */
static uint64_t ring_frame_checksum(const tern_context *context, uint32_t endpoint, uint32_t target,
                                    const tern_frame *frame, const void *records) {
    uint64_t words[3] = {frame->position, (uint64_t)frame->skip << 32 | frame->bytes,
                         (uint64_t)endpoint << 32 | target};
    uint64_t seed = XXH3_64bits_withSeed(words, sizeof words, context->nonce);
    return XXH3_64bits_withSeed(records, frame->bytes, seed);
}

uint64_t tern_frame_seal(tern_worker *worker, tern_out *out) {
    tern_frame frame = {out->frame, (uint32_t)(out->lane.write - out->frame - TERN_FRAME_BYTES),
                        out->frame_skip, 0};
    char *at = out->lane.data + (out->frame & out->lane.mask);
    frame.check = ring_frame_checksum(worker->context,
                                      tern_endpoint_of(worker->context, out->channel, out->origin),
                                      out->target, &frame, at + TERN_FRAME_BYTES);
    memcpy(at, &frame, sizeof frame);
    return out->lane.write - out->frame;
}

/* Returns how many bytes are left from the write position to the end of the generation in which the
 * open frame begins, or the next one if none is open. 0: the open frame ends with the generation.
 */
static uint64_t left_in_generation(const tern_out *out) {
    uint64_t begin = out->frame_open ? out->frame : out->lane.write;
    return out->lane.mask + 1 - (begin & out->lane.mask) - (out->lane.write - begin);
}

void tern_frame_open(tern_out *out) {
    out->frame_open = true;
    out->frame = out->lane.write;
    out->frame_skip = 0;
    out->lane.write += TERN_FRAME_BYTES;
}

/* Ends the generation. The open frame, or else an empty one, tells the target to skip the rest of
 * the ring. If the rest is too short for a frame's header, both sides skip it without being told.
 */
static tern_status ring_frame_wrap(tern_worker *worker, tern_out *out) {
    uint64_t left = left_in_generation(out);
    if (!out->frame_open && left < TERN_FRAME_BYTES) {
        out->lane.write += left;
        return TERN_OK;
    }
    if (!out->frame_open) {
        if (!tern_ring_has_room(worker, out, left + TERN_MOVE_ROOM))
            return TERN_ERR_AGAIN;
        tern_frame_open(out);
        left -= TERN_FRAME_BYTES;
    }
    out->frame_skip = (uint32_t)left;
    tern_status status = out->transport->publish(worker, out);
    if (status != TERN_OK) {
        /* The generation does not end here yet: a smaller record may still fit, or the ring may
         * grow. */
        out->frame_skip = 0;
        out->frame_open = out->lane.first_header != 0;
        if (!out->frame_open)
            out->lane.write = out->frame;
        return status;
    }
    tern_ring_published(worker, out);
    return TERN_OK;
}

/* A transport's settle leaves the failure of a lost put to the application's flush. Where there is
 * only a flush, another worker, to which the ring was lent, may have made the puts. MPI's flush
 * covers those as well, but this worker's list of dirty ranks does not know of them, so the rank is
 * marked first. */
tern_status tern_frame_settle(tern_worker *worker, tern_out *out) {
    uint32_t rank = tern_rank_of(worker->context, out->target);
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    const bool settles = out->transport->settles_own;
    if (!settles)
        tern_dirty_mark(mine, rank, TERN_DIRTY_RECORDS);
    mine->settling++;
    tern_status status =
        settles ? out->transport->settle(worker, rank) : out->transport->flush(worker, rank);
    mine->settling--;
    return status;
}

/* An error is dropped: it means that the target is dead or that the card has failed, and then no
 * later frame of the staging memory arrives either. */
void tern_frame_hand_over(tern_worker *worker, tern_out *out) {
    if (out->transport->settles_own &&
        out->transport->settle(worker, tern_rank_of(worker->context, out->target)) != TERN_OK)
        tern_error_clear();
}

tern_status tern_frame_reserve(tern_worker *worker, tern_out *out, uint64_t size) {
    uint64_t left = left_in_generation(out);
    if (left < (out->frame_open ? 0 : TERN_FRAME_BYTES) + size) {
        tern_status status = ring_frame_wrap(worker, out);
        if (status != TERN_OK)
            return status;
    }
    uint64_t need = (out->frame_open ? 0 : TERN_FRAME_BYTES) + size;
    if (!tern_ring_has_room(worker, out, need + TERN_MOVE_ROOM))
        return TERN_ERR_AGAIN;
    /* MPI's rule on origin buffers: the puts of the last generation must be complete before the
     * origin writes their staging memory again. The puts must be complete at the target, too: a
     * late piece of one would overwrite what this generation puts there. One flush per generation
     * is enough (Seriema 4.1, selective signaling). */
    uint64_t generation = out->lane.write / (out->lane.mask + 1);
    if (generation != out->generation) {
        tern_status status = tern_frame_settle(worker, out);
        if (status != TERN_OK)
            return status;
        out->generation = generation;
    }
    if (!out->frame_open)
        tern_frame_open(out);
    return TERN_OK;
}

/* Whether the frame at the head of in is published, with TERN_RMA_COMMIT=flush: the origin flushes
 * the frame, then puts the published position and its inverse. */
static bool is_published(const tern_in *in) {
    /* R1: tern_frame_seal; put by a remote origin that has flushed */
    uint64_t position = atomic_load_explicit(&in->header->published[0], memory_order_acquire);
    uint64_t inverse = atomic_load_explicit(&in->header->published[1], memory_order_acquire);
    return position == ~inverse && (int64_t)(position - in->position) > 0;
}

/* Accepts the next frame of a ring: skips the bytes left at the ends of generations, checks the
 * frame's header and checksum, and moves in->limit to the end of the frame. Returns the header of
 * its first record, or 0 if no whole frame has arrived. */
uint64_t tern_frame_accept(tern_worker *worker, tern_in *in) {
    tern_context *context = worker->context;
    bool checksums =
        in->transport->name != TERN_RMA || context->config.rma_commit == TERN_RMA_COMMIT_CHECKSUM;
    for (;;) {
        in->position += in->skip;
        in->limit = in->position;
        in->skip = 0;
        uint64_t left = in->mask + 1 - (in->position & in->mask);
        if (left < TERN_FRAME_BYTES) {
            in->skip = left;
            continue;
        }
        char *at = in->data + (in->position & in->mask);
        /* R2: tern_frame_seal; MPI writes while we look: each word is read once, position first */
        if (atomic_load_explicit((_Atomic uint64_t *)(void *)at, memory_order_acquire) !=
                in->position ||
            (!checksums && !is_published(in)))
            return 0;
        tern_frame frame;
        tern_read_once(&frame, at, sizeof frame);
        frame.position = in->position;
        if (frame.bytes > left - TERN_FRAME_BYTES || frame.bytes % 8 != 0 ||
            frame.skip > left - TERN_FRAME_BYTES - frame.bytes ||
            (checksums &&
             frame.check != ring_frame_checksum(context,
                                                tern_endpoint_of(context, in->channel, in->origin),
                                                worker->id, &frame, at + TERN_FRAME_BYTES))) {
            worker->stats.frames_torn++;
            return 0;
        }
        /* R2: tern_frame_seal; what the origin wrote before the frame is read after it */
        atomic_thread_fence(memory_order_acquire);
        if (in->left_bytes != 0)
            tern_ring_leave_old(context, in);
        in->position += TERN_FRAME_BYTES;
        in->limit = in->position + frame.bytes;
        in->skip = frame.skip;
        if (frame.bytes > 0)
            /* R9: tern_frame_accept; behind its fence */
            return atomic_load_explicit(tern_ring_word(in->data, in->mask, in->position),
                                        memory_order_acquire);
    }
}
