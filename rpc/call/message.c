#include "tern/message.h"

#include "base/error.h"
#include "rma/state.h"
#include "rpc/call/send.h"
#include "src/log.h"
#include "src/mpi/mpi.h"
#include "src/progress/wait.h"

/* Calls by message: what goes into an inbox, and what is taken out of an inbox and run. */

enum { RUN_MOST = 256 }; /* in a round of progress, so that rings get their turn */

/* Before it can run: quiesce relies on it. Threads without a worker share a counter. Relaxed: the
 * message, which is handed over later, orders it before its run. */
static void count_sent(tern_worker *worker, int64_t by) {
    /* R4 */
    __atomic_fetch_add(&worker->stats.calls_sent, (uint64_t)by, __ATOMIC_RELAXED);
}

/* A round of a wait. Nobody makes no progress; what it tried has served messages. */
static tern_status call_message_step(tern_worker *worker, tern_wait_state *wait, uint32_t rank) {
    size_t found = worker->index == TERN_NO_WORKER ? 0 : tern_progress_round(worker);
    return tern_wait_round(worker->context, wait, found, rank);
}

static tern_status call_message_send(tern_worker *worker, tern_worker_id target,
                                     const tern_function *function, const void *arguments,
                                     size_t bytes, bool may_wait) {
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    if (bytes > TERN_MESSAGE_MAX)
        return tern_fail(TERN_ERR_RANGE,
                         "%zu bytes in a call by message, which takes %zu; tern_call takes more",
                         bytes, TERN_MESSAGE_MAX);
    uint32_t number = tern_worker_number(worker->context, target);
    tern_wait_state wait = TERN_WAIT_START;
    tern_status status;
    count_sent(worker, 1);
    do
        status = tern_inbox_send(worker, number, tern_record_id(header), arguments, bytes);
    while (status == TERN_ERR_AGAIN && may_wait && !worker->in_progress &&
           (status = call_message_step(worker, &wait, target.rank)) == TERN_OK);
    /* A rank that tries for ever is told, too. MPI has been asked just now, which costs more than
     * this. */
    if (status == TERN_ERR_AGAIN &&
        tern_peer_look(&worker->context->peers, target.rank) == TERN_PEER_DEAD)
        status = tern_peer_fail(target.rank);
    if (status != TERN_OK)
        count_sent(worker, -1);
    return status;
}

tern_status tern_call_message(tern_worker *worker, tern_worker_id target,
                              const tern_function *function, const void *arguments, size_t bytes) {
    return call_message_send(worker, target, function, arguments, bytes, true);
}

tern_status tern_call_message_try(tern_worker *worker, tern_worker_id target,
                                  const tern_function *function, const void *arguments,
                                  size_t bytes) {
    return call_message_send(worker, target, function, arguments, bytes, false);
}

static tern_status call_by_nobody(tern_context *context, tern_worker_id target,
                                  const tern_function *function, const void *arguments,
                                  size_t bytes, bool may_wait, const char *name) {
    if (context == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: context is NULL", name);
    tern_status status = tern_mpi_check_thread(name);
    if (status != TERN_OK)
        return status;
    return call_message_send(tern_context_nobody(context), target, function, arguments, bytes,
                             may_wait);
}

tern_status tern_context_call(tern_context *context, tern_worker_id target,
                              const tern_function *function, const void *arguments, size_t bytes) {
    return call_by_nobody(context, target, function, arguments, bytes, true, "tern_context_call");
}

tern_status tern_context_call_try(tern_context *context, tern_worker_id target,
                                  const tern_function *function, const void *arguments,
                                  size_t bytes) {
    return call_by_nobody(context, target, function, arguments, bytes, false,
                          "tern_context_call_try");
}

/* Whether it is over. */
static bool call_message_run(tern_worker *worker, const tern_inbox_message *entry) {
    if (entry->id >= tern_rpc_of(worker->context)->count) {
        worker->stats.records_malformed++;
        tern_log(TERN_LOG_ERROR, "a message from rank %u calls function %u, which is unknown",
                 entry->origin.rank, entry->id);
        return true; /* and was not counted as sent by any call */
    }
    tern_call_info call = {.origin = entry->origin};
    if (tern_function_run(worker, &call, entry->id, entry->payload, entry->bytes, false) ==
        TERN_ERR_AGAIN)
        return false;
    /* After the calls that the handler made were counted as sent: quiesce relies on it. */
    tern_count(&worker->stats.calls_executed, 1);
    return true;
}

static size_t run_lane(tern_worker *worker, tern_inbox_lane lane) {
    size_t calls = 0;
    const tern_inbox_message *entry;
    for (; calls < RUN_MOST && (entry = tern_inbox_take(worker, lane)) != NULL; calls++) {
        if (!call_message_run(worker, entry))
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
