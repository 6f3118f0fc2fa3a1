#include "rpc/call/await.h"

#include "base/error.h"
#include "rma/reply/answer.h"
#include "rma/memory/state.h"
#include "rma/transfer.h"
#include "rpc/lent/lent.h"
#include "src/profile/profile.h"

tern_answer tern_answer_expect(tern_worker *worker, uint32_t target, uint32_t function,
                               const tern_return_address *back) {
    tern_rpc_worker *mine = tern_rpc_worker_of(worker);
    if (back->cell != TERN_CELL_OF_THREAD) {
        mine->awaited |= (uint64_t)1 << back->cell;
        mine->sequence[back->cell] = back->sequence;
        mine->function[back->cell] = (uint16_t)function; /* there are FUNCTIONS_MAX at most */
    }
    return (tern_answer){back->sequence, back->cell, target};
}

tern_status tern_answer_ask(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes,
                            tern_answer *answer) {
    tern_call_target route;
    uint64_t header = tern_call_header(worker, target, function, arguments, bytes, &route);
    if (header == 0)
        return tern_call_refuse(worker, target, function, arguments, bytes);
    tern_return_address back;
    if (bytes > tern_outgoing_max(worker->context, route.by_message) - sizeof back)
        return tern_call_large(worker, route, header, arguments, bytes, TERN_FULL_WAIT, answer);
    tern_status status = tern_reply_expect(worker, &back);
    if (status != TERN_OK)
        return status;
    tern_outgoing call = {route,
                          tern_record_header(TERN_RECORD_CALL_RETURN, tern_record_id(header), 0),
                          {{&back, sizeof back}, {arguments, bytes}}};
    status = tern_outgoing_send(worker, &call, TERN_FULL_WAIT);
    if (status != TERN_OK) {
        tern_reply_release(worker, &back);
        return status;
    }
    if (!route.by_message)
        tern_reply_note_record(worker, &back, route.target);
    *answer = tern_answer_expect(worker, route.target, tern_record_id(header), &back);
    if (__builtin_expect(worker->profile != NULL, 0) && back.cell < TERN_PROFILE_ANSWERS)
        worker->profile->answer[back.cell] = tern_record_id(header);
    return TERN_OK;
}

static tern_return_address address_of(const tern_answer *answer) {
    return (tern_return_address){answer->cell, 0, answer->sequence};
}

/* Returns the name of the function that was called. */
static const char *answer_function(const tern_worker *worker, const tern_answer *answer) {
    return answer->cell == TERN_CELL_OF_THREAD
               ? "a function called by a thread without a worker"
               : tern_rpc_of(worker->context)
                     ->name[tern_rpc_worker_of(worker)->function[answer->cell]];
}

/* Copies the answer out of the cell, and returns its status. */
static tern_status cell_take(tern_worker *worker, const tern_cell *cell, uint32_t rank,
                             void *result, size_t capacity, size_t *result_bytes) {
    /* R9: tern_reply_arrived; each is read once, since other ranks of the node can write there */
    const tern_status status = (tern_status)__atomic_load_n(&cell->status, __ATOMIC_RELAXED);
    uint32_t bytes = __atomic_load_n(&cell->bytes, __ATOMIC_RELAXED);
    if (bytes > TERN_RESULT_MAX)
        bytes = TERN_RESULT_MAX;
    if ((unsigned)status >= TERN_STATUS_COUNT)
        return status == TERN_RESULT_LENT
                   ? tern_result_take(worker, rank, cell->payload, bytes, result, capacity,
                                      result_bytes)
                   : tern_fail(TERN_ERR_MISMATCH, "rank %u answered with status %d", rank,
                               (int)status);
    if (status != TERN_OK && bytes == 0)
        return tern_fail(status, "rank %u: %s", rank, TERN_NO_REASON);
    if (status != TERN_OK)
        return tern_fail(status, "rank %u: %.*s", rank, (int)bytes, cell->payload);
    if (bytes > capacity)
        return tern_fail(TERN_ERR_RANGE, "the result has %u bytes; there is room for %zu", bytes,
                         capacity);
    if (bytes > 0)
        memcpy(result, cell->payload, bytes);
    if (result_bytes != NULL)
        *result_bytes = bytes;
    return TERN_OK;
}

/* Gives up an answer: nobody waits for it any more. */
static void answer_forget(tern_worker *worker, const tern_answer *answer) {
    if (answer->cell != TERN_CELL_OF_THREAD)
        tern_rpc_worker_of(worker)->awaited &= ~((uint64_t)1 << answer->cell);
}

static void answer_give_up(tern_worker *worker, const tern_answer *answer) {
    const tern_return_address back = address_of(answer);
    answer_forget(worker, answer);
    tern_reply_give_up(worker, &back, tern_rank_of(worker->context, answer->target));
}

/* Takes an answer that has arrived. */
static tern_status answer_take(tern_worker *worker, const tern_answer *answer, void *result,
                               size_t capacity, size_t *result_bytes) {
    const tern_return_address back = address_of(answer);
    answer_forget(worker, answer);
    tern_status status =
        cell_take(worker, tern_reply_cell(worker, &back),
                  tern_rank_of(worker->context, answer->target), result, capacity, result_bytes);
    tern_reply_release(worker, &back);
    return status;
}

/* Waits for the answer and takes it. [out] came: whether the answer came, so that the outcome is
 * the other rank's. */
static tern_status answer_wait(tern_worker *worker, const tern_answer *answer, void *result,
                               size_t capacity, size_t *result_bytes, bool *came) {
    const tern_return_address back = address_of(answer);
    const uint32_t rank = tern_rank_of(worker->context, answer->target);
    tern_wait_state wait = TERN_WAIT_FOR("the result of", answer_function(worker, answer), 0);
    tern_status status = TERN_OK;
    if (!tern_reply_arrived(worker, &back))
        status = tern_puts_deliver(worker); /* the handler may depend on them */
    while (status == TERN_OK && !tern_reply_arrived(worker, &back))
        status =
            tern_answer_round(worker, &wait, tern_call_round(worker), rank, answer->target, &back);
    *came = status == TERN_OK;
    if (status == TERN_OK)
        return answer_take(worker, answer, result, capacity, result_bytes);
    answer_give_up(worker, answer);
    return status;
}

/* Waits as answer_wait does. The profile counts the time for the function that was called. */
static tern_status answer_wait_profiled(tern_worker *worker, const tern_answer *answer,
                                        void *result, size_t capacity, size_t *result_bytes,
                                        bool *came) {
    tern_profile *profile = worker->profile;
    if (__builtin_expect(profile == NULL, 1) || answer->cell >= TERN_PROFILE_ANSWERS)
        return answer_wait(worker, answer, result, capacity, result_bytes, came);
    const uint32_t outer = profile->function;
    profile->function = profile->answer[answer->cell];
    const tern_status status = answer_wait(worker, answer, result, capacity, result_bytes, came);
    profile->function = outer;
    return status;
}

tern_status tern_answer_wait(tern_worker *worker, const tern_answer *answer, void *result,
                             size_t capacity, size_t *result_bytes) {
    bool came;
    return answer_wait_profiled(worker, answer, result, capacity, result_bytes, &came);
}

tern_status tern_answer_check_size(tern_status status, size_t got, size_t wanted) {
    if (status != TERN_OK || got == wanted)
        return status;
    return tern_fail(TERN_ERR_MISMATCH, "the result has %zu bytes; the caller expects %zu", got,
                     wanted);
}

/* Requests that hold an answer. */

/* The flags of a request lie behind the answer in its own words. */
enum { FLAGS = 2 };
enum {
    EXACT = 1, /* a result of fewer bytes than the request has room for is an error */
    FAILED = 2 /* a look has found that the answer will not come, or a wait has ended without it */
};

static tern_answer answer_of(const tern_request *request) {
    tern_answer answer;
    _Static_assert(sizeof answer <= FLAGS * sizeof request->own[0], "the answer is before FLAGS");
    memcpy(&answer, request->own, sizeof answer);
    return answer;
}

/* Ends the request. A result that was written into the request itself is a number; then
 * tern_request_result returns this number and not its size. */
static tern_status answer_end(tern_request *request, tern_status status, size_t bytes) {
    const uint64_t number = request->result;
    if (request->own[FLAGS] & EXACT)
        status = tern_answer_check_size(status, bytes, request->room);
    return tern_request_end(request, status, request->to == &request->result ? number : bytes);
}

/* Returns whether the result can be copied to the caller without an error and without waiting. */
static bool answer_is_plain(const tern_cell *cell, const tern_request *request) {
    /* R9: tern_reply_arrived */
    const uint32_t status = __atomic_load_n(&cell->status, __ATOMIC_RELAXED),
                   bytes = __atomic_load_n(&cell->bytes, __ATOMIC_RELAXED);
    return status == TERN_OK && bytes <= request->room &&
           (bytes == request->room || !(request->own[FLAGS] & EXACT));
}

/* Looks once whether the answer has come, and takes it if that cannot fail. Returns true if
 * tern_wait need not wait for it any more. An error is left to tern_wait, which returns it with its
 * text. */
static bool answer_request_look(tern_worker *worker, tern_request *request) {
    const tern_answer answer = answer_of(request);
    const tern_return_address back = address_of(&answer);
    if (tern_is_nobody(worker))
        tern_message_poll(worker);
    if (!tern_reply_arrived(worker, &back)) {
        if (request->own[FLAGS] & FAILED)
            return true;
        tern_status status = tern_puts_deliver(worker); /* the handler may depend on them */
        if (status == TERN_OK)
            status = tern_answer_glance(worker, answer.target, &back);
        if (status == TERN_OK)
            return false;
        tern_error_clear();
        request->own[FLAGS] |= FAILED;
    } else if (answer_is_plain(tern_reply_cell(worker, &back), request)) {
        size_t bytes = 0;
        tern_status status = answer_take(worker, &answer, request->to, request->room, &bytes);
        answer_end(request, status, bytes);
    }
    return true;
}

static tern_status answer_request_wait(tern_worker *worker, tern_request *request) {
    const tern_answer answer = answer_of(request);
    size_t bytes = 0;
    bool came;
    tern_status status =
        answer_wait_profiled(worker, &answer, request->to, request->room, &bytes, &came);
    request->own[FLAGS] &= EXACT;
    request->own[FLAGS] |= came ? 0 : FAILED;
    return answer_end(request, status, bytes);
}

bool tern_answer_came(const tern_request *request) { return (request->own[FLAGS] & FAILED) == 0; }

const tern_request_kind tern_answer_kind = {answer_request_look, answer_request_wait, NULL};

void tern_answer_request(tern_worker *worker, const tern_answer *answer, void *result,
                         size_t capacity, tern_request *request) {
    tern_request_begin(request, &tern_answer_kind, tern_rank_of(worker->context, answer->target));
    memcpy(request->own, answer, sizeof *answer);
    request->own[FLAGS] = 0;
    request->to = result;
    request->room = capacity;
}

void tern_answer_request_all(tern_request *request) { request->own[FLAGS] = EXACT; }

tern_status tern_answer_check_request(const void *result, size_t capacity,
                                      const tern_request *request, const char *function) {
    if (result == NULL && capacity > 0)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: result is NULL", function);
    return tern_request_check(request, function);
}

tern_status tern_call_start(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes,
                            void *result, size_t capacity, tern_request *request) {
    tern_answer answer;
    tern_status status = tern_answer_check_request(result, capacity, request, "tern_call_start");
    if (status == TERN_OK)
        status = tern_answer_ask(worker, target, function, arguments, bytes, &answer);
    if (status == TERN_OK)
        tern_answer_request(worker, &answer, result, capacity, request);
    return status;
}

tern_status tern_call_return(tern_worker *worker, tern_worker_id target,
                             const tern_function *function, const void *arguments, size_t bytes,
                             void *result, size_t capacity, size_t *result_bytes) {
    if (worker == NULL || (result == NULL && capacity > 0))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "tern_call_return: worker is NULL, or result is NULL and capacity is %zu",
                         capacity);
    tern_status status = tern_call_may_wait(worker, "tern_call_return");
    tern_answer answer;
    if (status == TERN_OK)
        status = tern_answer_ask(worker, target, function, arguments, bytes, &answer);
    if (status != TERN_OK)
        return status;
    return tern_answer_wait(worker, &answer, result, capacity, result_bytes);
}
