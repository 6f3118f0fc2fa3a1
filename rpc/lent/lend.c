#include "rpc/lent/lent.h"

#include "base/error.h"
#include "rma/reply/reply.h"
#include "rma/memory/state.h"
#include "rpc/synchronizer.h"
#include "src/progress/wait.h"
#include "tern/archive.h"

/* Waits until some memory that was lent has come back. */
static tern_status await_memory(tern_worker *worker) {
    const uint64_t over = tern_held_over(worker);
    tern_wait_state wait = TERN_WAIT_IN("tern_call (for memory of earlier calls)");
    tern_status status = TERN_OK;
    while (tern_held_over(worker) == over && status == TERN_OK) {
        const size_t found = tern_call_round(worker) + tern_held_advance(worker);
        status = tern_wait_round(worker->context, &wait, found, tern_held_reader(worker));
    }
    if (status != TERN_ERR_PEER || !tern_held_reclaim(worker))
        return status;
    tern_error_clear(); /* the memory of a loan whose reader has died is free */
    return TERN_OK;
}

/* Allocates memory to lend. It waits only for memory that earlier calls hold: this comes back
 * without any help of the application, while memory of results may not. */
static tern_status create_held(tern_worker *worker, size_t bytes, tern_full full,
                               tern_held **held) {
    for (;;) {
        tern_status status = tern_held_create(worker, bytes, held);
        if (status != TERN_ERR_MEMORY || tern_held_calls(worker) == 0)
            return status;
        if (full != TERN_FULL_WAIT || (worker->in_progress && !tern_is_nobody(worker)))
            return tern_fail(TERN_ERR_AGAIN,
                             "calls that have not been fetched leave no memory for %zu bytes; let "
                             "progress run, or raise TERN_SEGMENT_SIZE",
                             bytes);
        tern_error_clear();
        status = await_memory(worker);
        if (status != TERN_OK)
            return status;
    }
}

static tern_status send_lent(tern_worker *worker, tern_outgoing *call, tern_extension *e,
                             tern_full full, uint64_t readers) {
    tern_outgoing rest = {.piece = {call->piece[1], call->piece[2]}};
    const size_t own = call->piece[1].bytes, bytes = tern_outgoing_bytes(&rest);
    tern_held *held = NULL;
    if (own > TERN_CHUNK_MAX || bytes > TERN_CHUNK_MAX) /* bytes, a sum, may have wrapped */
        return tern_fail(TERN_ERR_RANGE,
                         "a call with %zu bytes of arguments and %zu that go with them; at most %u "
                         "of both are allowed; let the target get a large buffer",
                         own, call->piece[2].bytes, TERN_CHUNK_MAX);
    tern_status status = create_held(worker, bytes, full, &held);
    if (status != TERN_OK)
        return status;
    tern_outgoing_write(&rest, tern_held_data(worker, held));
    if (!tern_is_nobody(worker))
        worker->stats.bytes_staged += bytes;
    const uint32_t rank = tern_rank_of(worker->context, call->to.target);
    const tern_loan loan =
        tern_held_lend_call(worker, held, readers, readers > 1 ? TERN_ANYBODY : rank);
    e->lent = 1;
    call->piece[1] = (tern_call_piece){&loan, sizeof loan};
    call->piece[2] = (tern_call_piece){NULL, 0};
    status = tern_outgoing_send(worker, call, full);
    if (status != TERN_OK)
        tern_counter_lower(worker, loan.counter, readers); /* nobody will read the memory */
    return status;
}

tern_status tern_extended_send(tern_worker *worker, tern_outgoing *call, tern_extension *e,
                               tern_full full, uint64_t readers) {
    if (tern_outgoing_fits(worker->context, call))
        return tern_outgoing_send(worker, call, full);
    return send_lent(worker, call, e, full, readers);
}

tern_status tern_call_large(tern_worker *worker, tern_call_target route, uint64_t header,
                            const void *arguments, size_t bytes, tern_full full,
                            tern_answer *answer) {
    tern_extension e = {.arguments = (uint32_t)bytes,
                        .origin = worker->id,
                        .flags = tern_is_nobody(worker) ? TERN_CALL_OF_THREAD : 0};
    tern_outgoing call = {route,
                          tern_record_header(TERN_RECORD_CALL_EXTENDED, tern_record_id(header), 0),
                          {{&e, sizeof e}, {arguments, bytes}}};
    tern_status status = answer != NULL ? tern_reply_expect(worker, &e.answer) : TERN_OK;
    if (status != TERN_OK)
        return status;
    status = tern_extended_send(worker, &call, &e, full, 1);
    if (status == TERN_OK && answer != NULL)
        *answer = tern_answer_expect(worker, route.target, tern_record_id(header), &e.answer);
    else if (answer != NULL)
        tern_reply_release(worker, &e.answer);
    return status;
}
