#include "rma/ring/remote.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/message/inbox.h"
#include "rma/port/port.h"
#include "rma/ring/message_channel.h"

tern_status tern_ring_ask_remote(tern_worker *worker, tern_out *out, uint32_t pieces,
                                 uint64_t start) {
    tern_message message = {.kind = TERN_MESSAGE_OPEN,
                            .origin = out->origin,
                            .target = out->target,
                            .offset = start,
                            .operand = {out->channel, pieces}};
    return tern_question_start(worker, tern_rank_of(worker->context, out->target), &message, NULL,
                               0, out->open_reply, sizeof out->open_reply, &out->open_question);
}

tern_status tern_ring_asked_remote(tern_worker *worker, tern_out *out, uint32_t *ring) {
    tern_status status = tern_question_test(worker, &out->open_question);
    if (status != TERN_OK)
        return status;
    *ring = (uint32_t)out->open_reply[1];
    if (out->open_reply[0] == TERN_OK)
        return TERN_OK;
    return tern_fail((tern_status)out->open_reply[0],
                     "worker %u has no ring left; raise TERN_RING_MEMORY or lower TERN_RING_SIZE",
                     out->target);
}

tern_status tern_ring_open_remote(tern_worker *worker, tern_out *out) {
    if (out->lane.data == NULL) {
        char *staging = malloc(out->lane.mask + 1);
        if (staging == NULL)
            return tern_fail(TERN_ERR_MEMORY, "no memory for the staging copy of a ring");
        tern_status status = tern_ring_ask_remote(worker, out, 1, 0);
        if (status != TERN_OK) {
            free(staging);
            return status;
        }
        out->lane.data = staging;
    }
    tern_status status = tern_ring_asked_remote(worker, out, &out->ring);
    if (status == TERN_OK)
        out->limit = out->lane.mask + 1;
    if (status != TERN_ERR_MEMORY)
        return status;
    tern_error_clear();
    free(out->lane.data);
    tern_message_channel_use(worker, out);
    return TERN_OK;
}

/* The acquire load pairs with the release store in serve_credit: the target has read everything
 * that it reports as consumed, so the origin may overwrite it. */
uint64_t tern_ring_consumed_remote(tern_worker *worker, const tern_out *out) {
    /* R1: serve_credit; what is told to be consumed has been read */
    return atomic_load_explicit(&tern_ring_credit(worker, out)->told, memory_order_acquire);
}

tern_status tern_ring_report_remote(tern_worker *worker, tern_in *in) {
    tern_message message = {.kind = TERN_MESSAGE_CREDIT,
                            .origin = worker->id,
                            .target = in->origin,
                            .offset = in->position,
                            .operand = {in->channel, 0}};
    return tern_inbox_notice(worker, &message, NULL, 0);
}

bool tern_ring_credit_ended(tern_worker *worker, tern_in *in) {
    if (in->credit != NULL && !tern_posting_landed(in->credit))
        tern_port_poll(worker);
    if (in->credit != NULL && !tern_posting_landed(in->credit))
        return false;
    if (in->credit != NULL && tern_posting_end(worker, in->credit) != TERN_OK)
        tern_error_clear(); /* the next credit makes up for it */
    in->credit = NULL;
    return true;
}
