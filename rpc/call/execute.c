#include <stdio.h>

#include "base/error.h"
#include "base/process.h"
#include "rma/reply/reply.h"
#include "rpc/lent/lent.h"
#include "rpc/synchronizer.h"
#include "src/log.h"
#include "src/progress/wait.h"
#include "tern/message.h"

/*
 * Executing calls. Plain calls are consumed in runs, so that each call costs only one indirect
 * call. Hot path: no system call, lock or allocation; apart from the record's own cache lines it
 * touches only the handler table. It keeps the state of the ring that it needs in registers while
 * handlers run, since these cannot change it. Guarded by `tern-bench call`.
 */

enum { PAUSES = 64 };

/* Counts and logs an error that a handler returned. failures: this thread's count of failures
 * before the handler ran. If the count has not changed since, the handler has set no detail, and
 * the detail that stands there belongs to an older error. */
static void note_refusal(tern_worker *worker, tern_worker_id origin, uint32_t id,
                         tern_status status, uint32_t failures, bool is_awaited) {
    const tern_rpc *rpc = tern_rpc_of(worker->context);
    char who[32] = "";
    if (origin.index != TERN_NO_WORKER)
        snprintf(who, sizeof who, " worker %u", origin.index);
    worker->stats.calls_refused++;
    if (tern_thread_failures.count == failures || tern_thread_failures.last != status)
        tern_error_clear();
    const char *text = tern_error_detail();
    /* R4 */
    const bool first =
        !is_awaited && !atomic_exchange_explicit(&rpc->refused[id], true, memory_order_relaxed);
    tern_log(first ? TERN_LOG_WARN : TERN_LOG_INFO, "%s, called by rank %u%s, returned '%s': %s%s",
             rpc->name[id], origin.rank, who, tern_strerror(status),
             text[0] != 0 ? text : TERN_NO_REASON,
             first ? " (later errors of this function are counted, and logged at the level info)"
                   : "");
}

tern_status tern_call_fail(const tern_call_info *call, tern_status status, const char *format,
                           ...) {
    (void)call;
    if (status == TERN_OK)
        return status;
    va_list arguments;
    va_start(arguments, format);
    tern_fail_list(status, format, arguments);
    va_end(arguments);
    return status;
}

tern_status tern_function_run(tern_worker *worker, tern_call_info *call, uint32_t id,
                              const void *arguments, size_t bytes, bool is_awaited) {
    const uint32_t failures = tern_thread_failures.count;
    call->worker = worker;
    call->result = tern_rpc_worker_of(worker)->result;
    worker->in_handler = true;
    const tern_rpc_function *function = &tern_rpc_of(worker->context)->function[id];
    call->user = function->user;
    tern_status status = function->handler(call, arguments, bytes);
    worker->in_handler = false;
    if (status != TERN_OK && status != TERN_ERR_AGAIN)
        note_refusal(worker, call->origin, id, status, failures, is_awaited);
    return status;
}

static const char bad_call[] = "a bad length or an unknown function";

/* A consumer that follows the producer closely makes every cache line travel once for each record
 * in it. So while records stream, a consumer that finds the ring empty pauses for a moment, and the
 * producer fills whole lines meanwhile. The length of the pause was measured with `tern-bench
 * call`. */
static void let_origin_run_ahead(void) {
    for (int i = 0; i < PAUSES; i++)
        tern_relax();
}

/* Finds the arguments and the buffer of a call that tern_call_with has sent with a buffer inside
 * and no other options: a word with the size of the arguments, the arguments, and from the next
 * multiple of 8 bytes on the buffer. False: the size is larger than the record. */
static bool execute_find_buffer(const char **arguments, size_t *bytes, tern_call_info *info) {
    if (*bytes < sizeof(uint64_t))
        return false;
    /* R10; once: the origin may write there again */
    const uint64_t own =
        __atomic_load_n((const uint64_t *)(const void *)*arguments, __ATOMIC_RELAXED);
    size_t left = *bytes - sizeof own;
    if (own > left)
        return false;
    size_t at = (own + 7) & ~(size_t)7;
    *arguments += sizeof own;
    *bytes = own;
    info->buffer = *arguments + at;
    info->buffer_bytes = at < left ? left - at : 0;
    return true;
}

size_t tern_calls_execute(tern_worker *worker, tern_in *in) {
    const tern_rpc *rpc = tern_rpc_of(worker->context);
    const tern_rpc_function *const function = rpc->function;
    const uint32_t count = rpc->count;
    char *const data = in->data;
    const uint64_t mask = in->mask, limit = in->limit;
    /* A run ends after a quarter of the ring, so that other rings get their turn, and the producer
     * hears in time that there is room again. */
    const uint64_t end = limit - in->position < mask / 4 ? limit : in->position + mask / 4;
    tern_call_info info = {.worker = worker, .origin = in->origin_id};
    char *const result = tern_rpc_worker_of(worker)->result;
    uint64_t position = in->position, run = 0;
    bool patient = in->streaming;
    worker->in_handler = true;
    do {
        /* R1: tern_ring_publish_direct, tern_lane_send */
        uint64_t header =
            atomic_load_explicit(tern_ring_word(data, mask, position), memory_order_acquire);
        unsigned kind = tern_record_kind(header);
        bool has_buffer = kind == TERN_RECORD_CALL_BUFFER;
        if (__builtin_expect(kind != TERN_RECORD_CALL && !has_buffer, 0)) {
            if (header != 0 || !patient)
                break;
            patient = false;
            let_origin_run_ahead();
            continue;
        }
        patient = in->streaming;
        uint32_t id = tern_record_id(header);
        size_t bytes = tern_record_bytes(header);
        uint64_t at = position & mask, size = tern_record_size(bytes);
        const char *arguments = data + at + 8;
        bool bad = id >= count || size > mask + 1 - at || size > limit - position;
        if (__builtin_expect(bad || (has_buffer && !execute_find_buffer(&arguments, &bytes, &info)),
                             0)) {
            in->position = position;
            tern_ring_refuse(worker, in, header, bad_call);
            break;
        }
        info.result = result;
        info.result_bytes = 0;
        const uint32_t failures = tern_thread_failures.count;
        info.user = function[id].user;
        tern_status status = function[id].handler(&info, arguments, bytes);
        if (__builtin_expect(status != TERN_OK, 0)) {
            if (status == TERN_ERR_AGAIN)
                break; /* the call stays at the head and runs again before any other call of its
                          caller */
            note_refusal(worker, in->origin_id, id, status, failures, false);
        }
        if (has_buffer) {
            info.buffer = NULL;
            info.buffer_bytes = 0;
        }
        position += size;
        run++;
    } while (position < end);
    worker->in_handler = false;
    in->position = position;
    /* This count comes after the calls that the handlers made were counted as sent: quiesce relies
     * on this order. */
    tern_count(&worker->stats.calls_executed, run);
    return run;
}

void tern_call_reply(tern_worker *worker, uint32_t to, uint32_t id, const tern_return_address *back,
                     tern_status status, const tern_call_info *call) {
    const void *payload = call->result;
    size_t bytes = call->result_bytes;
    tern_loan loan;
    if (status == TERN_OK && bytes > TERN_RESULT_MAX) {
        const uint32_t failures = tern_thread_failures.count;
        status = tern_result_lend(worker, call, tern_rpc_of(worker->context)->name[id], &loan);
        if (status == TERN_OK)
            status = TERN_RESULT_LENT;
        else
            note_refusal(worker, call->origin, id, status, failures, true);
        payload = &loan;
        bytes = sizeof loan;
    }
    if (status != TERN_OK && status != TERN_RESULT_LENT) {
        payload = tern_error_detail();
        bytes = strlen(payload);
    }
    if (tern_reply_send(worker, to, back, status, payload, bytes) == TERN_OK)
        return;
    tern_log(TERN_LOG_WARN, "a reply to rank %u was not sent: %s", call->origin.rank,
             tern_error_detail());
    if (status == TERN_RESULT_LENT)
        tern_counter_lower(worker, loan.counter, 1); /* nobody will fetch the result */
}

tern_status tern_call_answer_one(tern_worker *worker, tern_worker_id origin, uint32_t id,
                                 const char *payload, size_t bytes) {
    const uint32_t workers = worker->context->workers;
    tern_return_address back;
    tern_read_once(&back, payload, sizeof back);
    tern_call_info info = {.origin = origin};
    tern_status status =
        tern_function_run(worker, &info, id, payload + sizeof back, bytes - sizeof back, true);
    if (status == TERN_ERR_AGAIN)
        return status;
    const uint32_t to = origin.rank * workers + (origin.index < workers ? origin.index : 0);
    tern_call_reply(worker, to, id, &back, status, &info);
    return status;
}

size_t tern_call_answer(tern_worker *worker, tern_in *in) {
    const tern_rpc *rpc = tern_rpc_of(worker->context);
    uint64_t header = tern_ring_peek(worker, in);
    uint32_t id = tern_record_id(header);
    size_t bytes = tern_record_bytes(header);
    if (!tern_ring_check(in, header) || id >= rpc->count || bytes < sizeof(tern_return_address)) {
        tern_ring_refuse(worker, in, header, bad_call);
        return 0;
    }
    if (tern_call_answer_one(worker, in->origin_id, id, tern_ring_payload(in), bytes) ==
        TERN_ERR_AGAIN)
        return 0;
    tern_ring_advance(in, header);
    tern_count(&worker->stats.calls_executed, 1);
    return 1;
}
