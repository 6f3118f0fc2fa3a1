#include "rma/ring/reclaim.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/message/inbox.h"
#include "rma/ring/frame.h"
#include "rma/memory/doorbell.h"
#include "rma/ring/message_channel.h"
#include "rma/ring/sleep.h"
#include "rma/memory/state.h"
#include "rma/ring/remote.h"

#define LOOKS 64u /* the most rings that are examined in one round */

void tern_reclaim_list(tern_worker *worker, tern_in *in) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    in->seen = UINT64_MAX;
    in->next = mine->ins;
    mine->ins = in;
}

/* Whether in has carried nothing while messages brought TERN_RECLAIM_IDLE frames. */
static bool is_idle(const tern_worker *worker, tern_in *in, uint64_t frames) {
    if (in->ring == TERN_RING_NONE || in->closed || in->ending)
        return false;
    if (in->seen != in->position) {
        in->seen = in->position;
        in->seen_frames = frames;
    }
    return frames - in->seen_frames >= TERN_RECLAIM_IDLE &&
           (!in->active || in->empty >= worker->context->config.idle_polls);
}

/* Finds an idle ring, or NULL. Examines the worker's rings in turn, from where the last call
 * stopped on, and no ring twice in a call. */
static tern_in *find_idle(tern_worker *worker, uint64_t frames) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    const tern_in *last = mine->looked_at;
    for (uint32_t i = 0; i < LOOKS && mine->ins != NULL; i++) {
        tern_in *in = mine->looked_at == NULL ? NULL : mine->looked_at->next;
        in = mine->looked_at = in == NULL ? mine->ins : in;
        if (is_idle(worker, in, frames)) {
            in->seen_frames = frames; /* the worker asks for it again after as many frames */
            return in;
        }
        if (in == last)
            break;
    }
    return NULL;
}

/* Asks for one ring because of all frames that messages have brought since the last request. If one
 * ring is not enough, more frames will come by messages and cause another request. */
void tern_reclaim_ask(tern_worker *worker) {
    tern_rma *rma = tern_rma_of(worker->context);
    /* R4 */
    const uint64_t frames = atomic_load_explicit(&rma->message_frames, memory_order_relaxed);
    uint64_t answered = atomic_load_explicit(&rma->message_frames_answered, memory_order_relaxed);
    if (frames - answered < TERN_RECLAIM_FRAMES || worker->context->closing)
        return;
    const tern_in *in = find_idle(worker, frames);
    /* R4 */
    if (in == NULL ||
        !atomic_compare_exchange_strong_explicit(&rma->message_frames_answered, &answered, frames,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    const tern_message message = {.kind = TERN_MESSAGE_RECLAIM,
                                  .origin = worker->id,
                                  .target = in->origin,
                                  .operand = {in->channel, in->ring}};
    if (tern_inbox_notice(worker, &message, NULL, 0) != TERN_OK)
        tern_error_clear(); /* a later round asks for another ring */
}

bool tern_reclaim_serve_ask(tern_context *context, uint32_t source, const tern_message *message) {
    if (message->target / context->workers != context->rank || message->operand[0] >= TERN_CHANNELS)
        return false;
    tern_worker *worker = context->worker[message->target % context->workers];
    tern_rma_worker *origin = tern_rma_worker_of(worker);
    tern_out *out = tern_ring_at_rest(
        worker, tern_endpoint_of(context, (uint32_t)message->operand[0], message->origin));
    tern_inbox_count(context, source, message);
    /* R4; the ring is a number */
    if (out == NULL ||
        atomic_exchange_explicit(&out->wanted, (message->operand[1] & UINT32_MAX) + 1,
                                 memory_order_relaxed) != 0)
        return true;
    /* R9: tern_mpi_lock */
    out->next_wanted = atomic_load_explicit(&origin->wanted, memory_order_relaxed);
    /* R1: tern_reclaim_close */
    while (!atomic_compare_exchange_weak_explicit(&origin->wanted, &out->next_wanted, out,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return true;
}

/* Whether out still has the ring and may be closed now. Calls and notified operations that wait in
 * queues for room do not prevent it, since they can go by the message channel. */
static bool may_close(const tern_out *out, uint32_t ring) {
    /* lent is read first: while the ring is lent, another thread changes all other fields. */
    if (out->lent)
        return false;
    return out->ring == ring && ring != TERN_RING_NONE && !out->opening && !out->damaged &&
           out->growth == TERN_GROWTH_NONE && out->lane.first_header == 0;
}

/* Returns the position at which the ring ends: the write position, plus the bytes behind it that
 * the target skips by itself because they are too few for a frame's header. */
static uint64_t end_position(const tern_out *out) {
    const uint64_t size = out->lane.mask + 1, left = size - (out->lane.write & out->lane.mask);
    return out->lane.write +
           (out->transport->reads_own_frames && left < TERN_FRAME_BYTES ? left : 0);
}

/* Ends the ring, if the message CLOSED can be sent, and goes on in the message channel. */
static void close_ring(tern_worker *worker, tern_out *out) {
    tern_status status =
        out->transport->reads_own_frames ? tern_frame_settle(worker, out) : TERN_OK;
    const tern_message message = {.kind = TERN_MESSAGE_CLOSED,
                                  .origin = out->origin,
                                  .target = out->target,
                                  .offset = end_position(out),
                                  .operand = {out->channel, 0}};
    if (status == TERN_OK)
        status = tern_inbox_notice(worker, &message, NULL, 0);
    if (status != TERN_OK) {
        tern_error_clear(); /* it stays open; the target may ask again */
        return;
    }
    if (!out->direct)
        free(out->lane.data);
    out->lane.write = message.offset;
    tern_message_channel_use(worker, out);
    worker->stats.rings_reclaimed++;
}

void tern_reclaim_close(tern_worker *worker) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    /* R4 */
    if (atomic_load_explicit(&mine->wanted, memory_order_relaxed) == NULL)
        return;
    if (mine->settling > 0 || worker->context->closing)
        return;
    /* R1: tern_reclaim_serve_ask */
    tern_out *out = atomic_exchange_explicit(&mine->wanted, NULL, memory_order_acquire);
    for (tern_out *next; out != NULL; out = next) {
        next = out->next_wanted;
        /* R1: tern_reclaim_serve_ask; from here on it may be listed again */
        const uint64_t wanted = atomic_exchange_explicit(&out->wanted, 0, memory_order_acq_rel);
        if (may_close(out, (uint32_t)(wanted - 1)))
            close_ring(worker, out);
    }
}

bool tern_reclaim_serve_closed(tern_context *context, uint32_t source, const tern_message *message,
                               bool *served) {
    if (message->target / context->workers != context->rank ||
        message->operand[0] >= TERN_CHANNELS || message->offset % 8 != 0)
        return false;
    const uint32_t index = message->target % context->workers;
    const uint32_t endpoint =
        tern_endpoint_of(context, (uint32_t)message->operand[0], message->origin);
    *served = tern_message_channel_begin(context, index, endpoint, message->offset);
    if (!*served)
        return true;
    tern_doorbell_ring(tern_worker_page(context, message->target),
                       tern_rma_of(context)->layout.doorbells, endpoint);
    tern_inbox_count(context, source, message);
    return true;
}

void tern_reclaim_hear(tern_worker *worker, tern_in *in) {
    const uint32_t endpoint = tern_endpoint_of(worker->context, in->channel, in->origin);
    if (in->ring == TERN_RING_NONE)
        tern_message_channel_look(worker, endpoint, in);
    else
        in->ending = tern_message_channel_has_begun(worker, endpoint);
}

void tern_reclaim_leave(tern_worker *worker, tern_in *in) {
    tern_context *context = worker->context;
    const uint32_t endpoint = tern_endpoint_of(context, in->channel, in->origin), ring = in->ring;
    const uint64_t bytes = in->mask + 1;
    /* The worker keeps the ring while the answer to its question SLEEP is under way, since that
     * answer is about this ring. It also keeps it while a put of credit is under way, since that
     * put could overwrite a later credit. */
    if (!tern_sleep_answered(worker, in) ||
        (in->credit != NULL && !tern_ring_credit_ended(worker, in)) ||
        !tern_message_channel_take(worker, endpoint, in))
        return;
    if (in->left_bytes != 0)
        tern_ring_leave_old(context, in);
    tern_arena_release(context, ring, bytes);
    in->ending = false;
}
