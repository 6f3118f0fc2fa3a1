#include "rpc/call/overflow.h"

#include "base/error.h"
#include "rma/reply/reply.h"
#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "rpc/archive/fetch.h"
#include "rpc/lent/lent.h"
#include "rpc/synchronizer.h"

/* Gives an error as the answer to the worker that waits on this rank: no other rank will answer. */
static void lost_answer(const tern_worker *worker, uint32_t origin, const tern_return_address *back,
                        tern_status status) {
    const char *text = tern_error_detail();
    tern_reply_unsent(worker->context, origin, back, status, text, strlen(text));
}

/* Ends the loan of a call that is lost. If the status is TERN_ERR_PEER, the only reader has died.
 * This has ended the loan already, and its memory may be in other use by now, so nothing is
 * done. */
static void settle_loan(tern_worker *worker, const char *payload, tern_status status) {
    tern_loan loan;
    memcpy(&loan, payload, sizeof loan);
    if (status != TERN_ERR_PEER && loan.counter.rank == worker->context->rank)
        tern_counter_lower(worker, loan.counter, 1);
}

static void settle_extended(tern_worker *worker, const tern_pending_call *call,
                            tern_status status) {
    tern_extension e;
    memcpy(&e, call->payload, sizeof e);
    /* The counter of a broadcast from another node needs a notice, for which there may be no room.
     */
    if (!tern_ptr_is_null(e.counter) &&
        (tern_internal_reach_address(worker, e.counter, sizeof(uint64_t)) != NULL ||
         tern_notices_have_room(worker)))
        tern_counter_lower(worker, e.counter, 1);
    if (e.lent != 0)
        settle_loan(worker, call->payload + sizeof e, status);
    if (e.answer.sequence != 0)
        lost_answer(worker, e.origin, &e.answer, status);
    if (e.transfer < TERN_BUFFER_CHUNKS)
        return;
    tern_chunk_list list;
    memcpy(&list, call->payload + sizeof e + ((e.arguments + 7) & ~7u), sizeof list);
    lost_answer(worker, e.origin, &list.back, status);
}

void tern_call_lost(tern_worker *worker, uint32_t origin, const tern_pending_call *call,
                    tern_status status) {
    unsigned kind = tern_record_kind(call->header);
    worker->stats.calls_refused++;
    if (kind == TERN_RECORD_CALL_EXTENDED) {
        settle_extended(worker, call, status);
    } else if (kind == TERN_RECORD_CALL_RETURN) {
        tern_return_address back;
        memcpy(&back, call->payload, sizeof back);
        lost_answer(worker, origin, &back, status);
    }
    tern_count(&worker->stats.calls_executed, 1);
}
