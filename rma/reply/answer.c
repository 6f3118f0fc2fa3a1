#include "rma/reply/answer.h"

#include "base/error.h"
#include "rma/memory/state.h"

static void answer_note_damage(tern_worker *worker, tern_out *out) {
    worker->stats.records_malformed += !out->damaged;
    out->damaged = true;
}

static tern_status answer_ring_fail(tern_worker *worker, tern_out *out, uint64_t position,
                                    uint64_t header) {
    answer_note_damage(worker, out);
    const uint32_t rank = tern_rank_of(worker->context, out->target);
    return tern_fail(TERN_ERR_CORRUPT,
                     "the ring to worker %u has the header %#llx at position %llu, so rank %u "
                     "answers no call behind it; look for what writes into rank %u's segment",
                     out->target, (unsigned long long)header, (unsigned long long)position, rank,
                     rank);
}

/* Checks the headers of the records that the target may not have consumed yet, and rings the
 * target's doorbell if there are any. */
static tern_status answer_ring_check(tern_worker *worker, tern_out *out) {
    const uint64_t size = out->lane.mask + 1;
    const uint64_t end = out->lane.first_header != 0 ? out->lane.first : out->lane.write;
    uint64_t at = out->transport->consumed(worker, out);
    if (end - at > size || at % 8 != 0) {
        answer_note_damage(worker, out);
        if (at == TERN_CONSUMED_NEVER)
            return tern_fail(TERN_ERR_CORRUPT,
                             "worker %u has found an invalid record in the ring to it and reads no "
                             "further one; look for what writes into rank %u's segment",
                             out->target, tern_rank_of(worker->context, out->target));
        return tern_fail(TERN_ERR_CORRUPT,
                         "the ring to worker %u, of which %llu bytes are written, says that %llu "
                         "are consumed; look for what writes into rank %u's segment",
                         out->target, (unsigned long long)end, (unsigned long long)at,
                         tern_rank_of(worker->context, out->target));
    }
    if (at != end)
        tern_ring_ring_doorbell(worker, out);
    while (at != end) {
        /* R5: tern_ring_peek; or it is damage */
        const uint64_t header = atomic_load_explicit(tern_out_word(out, at), memory_order_relaxed);
        const uint64_t bytes = tern_record_size(tern_record_bytes(header));
        const unsigned kind = tern_record_kind(header);
        if (kind == TERN_RECORD_NONE || kind >= TERN_RECORD_KINDS || bytes > end - at ||
            bytes > size - (at & out->lane.mask))
            return answer_ring_fail(worker, out, at, header);
        at += bytes;
    }
    return TERN_OK;
}

static tern_status answer_ring_to_check(tern_worker *worker, uint32_t target) {
    const uint32_t endpoint = tern_endpoint_of(worker->context, TERN_CHANNEL_CALLS, target);
    tern_out *out = tern_rma_worker_of(worker)->out[endpoint];
    return out != NULL && out->direct ? answer_ring_check(worker, out) : TERN_OK;
}

/* Whether the target has consumed the record that asks, but the answer is not there. Then damage
 * has led the answer to another address, or the record no longer asks for one. */
static bool answer_is_lost(tern_worker *worker, uint32_t target, const tern_return_address *back) {
    tern_rma_worker *mine = tern_rma_worker_of(worker);
    const tern_cell_use *use = &mine->cell[back->cell];
    const tern_out *out = mine->out[tern_endpoint_of(worker->context, TERN_CHANNEL_CALLS, target)];
    return use->ring != 0 && out != NULL && out->direct && use->ring == out->ring + 1 &&
           (int32_t)((uint32_t)out->transport->consumed(worker, out) - use->asked) >= 0 &&
           !tern_reply_arrived(worker, back);
}

/* Checks the cell and the ring for damage. Threads without a worker have neither. */
static tern_status answer_check(tern_worker *worker, uint32_t target,
                                const tern_return_address *back) {
    const uint32_t rank = tern_rank_of(worker->context, target);
    if (!tern_rank_is_direct(worker->context, rank) || tern_is_nobody(worker))
        return TERN_OK;
    if (back != NULL && tern_reply_is_damaged(worker, back))
        return tern_fail(TERN_ERR_CORRUPT,
                         "the cell %u for an answer of rank %u was written over; look for what "
                         "writes into rank %u's segment",
                         back->cell, rank, worker->context->rank);
    const tern_status status = answer_ring_to_check(worker, target);
    if (status != TERN_OK || back == NULL || !answer_is_lost(worker, target, back))
        return status;
    return tern_fail(TERN_ERR_CORRUPT,
                     "rank %u has consumed a call and its answer has not come to this rank's cell "
                     "%u; look for what writes into rank %u's segment",
                     rank, back->cell, rank);
}

void tern_answer_look_everywhere(tern_worker *worker) {
    for (tern_out *out = tern_rma_worker_of(worker)->outs; out != NULL; out = out->next)
        if (out->direct && out->channel == TERN_CHANNEL_CALLS && !out->lent &&
            answer_ring_check(worker, out) != TERN_OK)
            tern_error_clear();
}

tern_status tern_answer_round(tern_worker *worker, tern_wait_state *wait, size_t found,
                              uint32_t rank, uint32_t target, const tern_return_address *back) {
    const uint64_t looked = wait->looked;
    tern_status status = tern_wait_round(worker->context, wait, found, rank);
    if (status == TERN_OK && looked != 0 && wait->looked != looked)
        status = answer_check(worker, target, back);
    return status;
}

tern_status tern_answer_glance(tern_worker *worker, uint32_t target,
                               const tern_return_address *back) {
    const uint32_t rank = tern_rank_of(worker->context, target);
    if (tern_is_nobody(worker)) /* each of its looks asks MPI, which costs more */
        return tern_peer_look(&worker->context->peers, rank) == TERN_PEER_DEAD
                   ? tern_peer_fail(rank)
                   : TERN_OK;
    tern_status status = tern_glance(worker, rank);
    /* A program may test many requests in turn, and the tern_glance that really looks may always be
     * that of the same request. So each request counts its own looks. */
    if (status == TERN_OK && tern_reply_is_looked_at(worker, back))
        status = answer_check(worker, target, back);
    return status;
}
