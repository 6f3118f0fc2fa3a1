#include "tern/message.h"

#include <stdlib.h>

#include "base/error.h"
#include "rma/memory/state.h"
#include "rpc/call/extended.h"
#include "rpc/call/send.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/profile/profile.h"
#include "src/progress/wait.h"

/* Calls by message: sending a call to an inbox, and running the calls of an inbox. A message has
 * the content of a ring's record. */

enum { RUN_MOST = 256 }; /* calls of a lane in one round at most, so that rings get their turn */
enum { SMALL = 1024 };   /* bytes of a call that are put together on the stack */

tern_worker *tern_context_caller(tern_context *context) {
    return context != NULL ? tern_context_nobody(context) : NULL;
}

/* Counts a call as sent before it can run: quiesce relies on it. Threads without a worker share a
 * counter. Relaxed is enough: the message, which is handed over later, orders the count before the
 * call's run. */
static void count_sent(tern_worker *worker, int64_t by) {
    /* R4 */
    __atomic_fetch_add(&worker->stats.calls_sent, (uint64_t)by, __ATOMIC_RELAXED);
}

static tern_status message_send_payload(tern_worker *worker, const tern_outgoing *c,
                                        const void *payload, size_t bytes, bool may_wait) {
    const uint32_t rank = tern_rank_of(worker->context, c->to.target);
    tern_wait_state wait = TERN_WAIT_IN("tern_call (for credit for messages)");
    tern_status status;
    count_sent(worker, 1);
    do
        status = tern_inbox_send(worker, c->to.target, (uint32_t)c->header, payload, bytes);
    while (status == TERN_ERR_AGAIN && may_wait &&
           (status = tern_wait_round(worker->context, &wait, tern_call_round(worker), rank)) ==
               TERN_OK);
    /* The check for a death tells a program that tries again and again that the rank has died. The
     * send has asked MPI just now, which costs more than this check. */
    if (status == TERN_ERR_AGAIN && tern_peer_look(&worker->context->peers, rank) == TERN_PEER_DEAD)
        status = tern_peer_fail(rank);
    if (status != TERN_OK)
        count_sent(worker, -1);
    return status;
}

tern_status tern_outgoing_send_message(tern_worker *worker, const tern_outgoing *c,
                                       tern_full full) {
    char small[SMALL], *together = small;
    const size_t bytes = tern_outgoing_bytes(c);
    const bool nobody = tern_is_nobody(worker), is_one = bytes == c->piece[0].bytes;
    if (!tern_outgoing_fits(worker->context, c))
        return tern_fail(TERN_ERR_RANGE, "a call of %zu bytes by message; at most %zu are allowed",
                         bytes, TERN_MESSAGE_MAX);
    tern_status status = nobody ? tern_mpi_check_thread("a call") : TERN_OK;
    if (status != TERN_OK)
        return status;
    if (!is_one && bytes > sizeof small && (together = malloc(bytes)) == NULL)
        return tern_fail(TERN_ERR_MEMORY, "no memory for a message of %zu bytes", bytes);
    if (!is_one)
        tern_outgoing_write(c, together);
    status = message_send_payload(worker, c, is_one ? c->piece[0].data : together, bytes,
                                  full == TERN_FULL_WAIT && (nobody || !worker->in_progress));
    if (together != small)
        free(together);
    return status;
}

/* Drops a malformed message, which no worker has counted as a sent call. */
static bool message_refuse(tern_worker *worker, const tern_inbox_message *entry) {
    worker->stats.records_malformed++;
    tern_log(TERN_LOG_ERROR, "a message from rank %u with %u bytes calls %#x, which is unknown",
             entry->origin.rank, entry->bytes, entry->what);
    return true;
}

/* Runs the call of a message. Returns whether the call is over. */
static bool message_run(tern_worker *worker, const tern_inbox_message *entry) {
    const uint32_t id = tern_record_id(entry->what);
    const unsigned kind = tern_record_kind(entry->what);
    tern_status status;
    if (kind == TERN_RECORD_CALL_EXTENDED)
        return tern_call_extended_message(worker, entry);
    if (id >= tern_rpc_of(worker->context)->count)
        return message_refuse(worker, entry);
    const bool returns =
        kind == TERN_RECORD_CALL_RETURN && entry->bytes >= sizeof(tern_return_address);
    if (kind != TERN_RECORD_CALL && !returns)
        return message_refuse(worker, entry);
    if (__builtin_expect(worker->profile != NULL, 0))
        worker->profile->arrow = tern_inbox_arrow(worker->context, entry, worker->id);
    if (returns) {
        status = tern_call_answer_one(worker, entry->origin, id, entry->payload, entry->bytes);
    } else {
        tern_call_info call = {.origin = entry->origin};
        status = tern_function_run(worker, &call, id, entry->payload, entry->bytes, false);
    }
    if (status == TERN_ERR_AGAIN)
        return false;
    /* This count comes after the calls that the handler made were counted as sent: quiesce relies
     * on this order. */
    tern_count(&worker->stats.calls_executed, 1);
    return true;
}

static size_t run_lane(tern_worker *worker, tern_inbox_lane lane) {
    size_t calls = 0;
    const tern_inbox_message *entry;
    for (; calls < RUN_MOST && (entry = tern_inbox_take(worker, lane)) != NULL; calls++) {
        if (!message_run(worker, entry))
            break;
        tern_inbox_end(worker, lane);
    }
    return calls;
}

size_t tern_messages_run(tern_worker *worker) {
    if (__builtin_expect(!tern_inbox_stirs(&tern_rma_worker_of(worker)->inbox), 1))
        return 0;
    size_t calls = run_lane(worker, TERN_INBOX_OF_HANDLERS);
    return calls + run_lane(worker, TERN_INBOX_OF_OTHERS) + tern_inbox_advance(worker);
}
