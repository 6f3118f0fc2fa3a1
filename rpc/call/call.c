#include "base/error.h"
#include "rma/reply/answer.h"
#include "rma/memory/state.h"
#include "rpc/lent/lent.h"

/*
 * Making calls. Over shm the short path, tern_internal_call_try, sends most calls: a few checks,
 * the pair's ring, a copy of the arguments straight into the target's memory, two header words; no
 * system call, lock or allocation. Guarded by `tern-bench call`. This file makes the calls that the
 * short path cannot send.
 */

static tern_status call_copying(tern_worker *worker, tern_worker_id target,
                                const tern_function *function, const void *arguments, size_t bytes,
                                tern_full full) {
    tern_call_target route;
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes, &route);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    if (bytes > tern_outgoing_max(worker->context, route.by_message))
        return tern_call_large(worker, route, header, arguments, bytes, full, NULL);
    tern_outgoing call = {route, header, {{arguments, bytes}}};
    return tern_outgoing_send(worker, &call, full);
}

/* Calls up to this size try the short path: every ring takes such a call in one record. */
enum { SHORT_MAX = 1024 };

tern_status tern_internal_call_any(tern_worker *worker, tern_worker_id target,
                                   const tern_function *function, const void *arguments,
                                   size_t bytes) {
    if (bytes <= SHORT_MAX && tern_internal_call_try(worker, target, function, arguments, bytes))
        return TERN_OK;
    return call_copying(worker, target, function, arguments, bytes, TERN_FULL_WAIT);
}

void tern_internal_call_attend(tern_worker *worker, tern_worker_id target) {
    uint32_t number = tern_worker_number(worker->context, target);
    tern_ring_attend(worker, tern_rma_worker_of(worker)->out[number]);
}

tern_status tern_call_try(tern_worker *worker, tern_worker_id target, const tern_function *function,
                          const void *arguments, size_t bytes) {
    return call_copying(worker, target, function, arguments, bytes, TERN_FULL_FAIL);
}

tern_status tern_call_queue(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes) {
    return call_copying(worker, target, function, arguments, bytes, TERN_FULL_QUEUE);
}
