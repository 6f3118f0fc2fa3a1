#include "src/progress/request.h"

#include <stdio.h>

#include "src/progress/wait.h"

tern_status tern_request_check(const tern_request *request, const char *function) {
    if (request == NULL)
        return tern_fail(TERN_ERR_ARGUMENT, "%s: request is NULL", function);
    if (tern_request_is_under_way(request))
        return tern_fail(TERN_ERR_ARGUMENT,
                         "%s: the request is under way, or was not zeroed before its first use; "
                         "wait for it, or pass another one",
                         function);
    return TERN_OK;
}

tern_status tern_request_tell(const tern_request *request) {
    const tern_status outcome = (tern_status)request->outcome;
    if (outcome == TERN_OK)
        return TERN_OK;
    if (request->kind != NULL && request->kind->explain != NULL)
        return request->kind->explain(request);
    if (outcome == TERN_ERR_PEER)
        return tern_peer_fail(request->rank);
    return tern_fail(outcome, "the operation of the request with rank %u has failed: %s",
                     request->rank, tern_strerror(outcome));
}

static tern_status requests_check(const tern_worker *worker, const tern_request *requests,
                                  size_t count, const char *function) {
    if (worker != NULL && (requests != NULL || count == 0))
        return TERN_OK;
    return tern_fail(TERN_ERR_ARGUMENT, "%s: %s is NULL", function,
                     worker == NULL ? "worker" : "request");
}

/* Returns whether tern_wait would return at once. tern_wait also reports a failure. */
static bool request_look(tern_worker *worker, tern_request *request) {
    const bool over = !tern_request_is_under_way(request) || request->kind->look(worker, request);
    if (over && request->outcome != TERN_OK)
        tern_error_clear();
    return over;
}

tern_status tern_test(tern_worker *worker, tern_request *request, int *done) {
    tern_status status = requests_check(worker, request, 1, "tern_test");
    if (status == TERN_OK && done == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "tern_test: done is NULL");
    if (status != TERN_OK)
        return status;
    bool over = request_look(worker, request);
    if (!over && !tern_is_nobody(worker)) {
        (void)tern_progress_round(worker);
        tern_look_vainly(worker);
        over = !tern_request_is_under_way(request);
    }
    *done = over;
    return TERN_OK;
}

/* tern_worker_may_wait, or TERN_OK for a thread without a worker, which may wait for its calls by
 * message. */
static tern_status request_may_wait(const tern_worker *worker, const char *function) {
    return tern_is_nobody(worker) ? TERN_OK : tern_worker_may_wait(worker, function);
}

static tern_status request_wait(tern_worker *worker, tern_request *request, const char *function) {
    tern_status status;
    if (!tern_request_is_under_way(request))
        status = tern_request_tell(request);
    else if ((status = request_may_wait(worker, function)) == TERN_OK)
        status = request->kind->wait(worker, request);
    request->told = !tern_request_is_under_way(request);
    return status;
}

tern_status tern_wait(tern_worker *worker, tern_request *request) {
    tern_status status = requests_check(worker, request, 1, "tern_wait");
    return status == TERN_OK ? request_wait(worker, request, "tern_wait") : status;
}

tern_status tern_wait_all(tern_worker *worker, tern_request *requests, size_t count) {
    tern_status status = requests_check(worker, requests, count, "tern_wait_all");
    tern_status first = TERN_OK;
    char text[TERN_DETAIL_BYTES];
    for (size_t i = 0; i < count && status == TERN_OK; i++) {
        tern_status outcome = request_wait(worker, &requests[i], "tern_wait_all");
        if (tern_request_is_under_way(&requests[i]))
            status = outcome; /* the wait was refused, as in a handler */
        else if (outcome != TERN_OK && first == TERN_OK) {
            first = outcome;
            snprintf(text, sizeof text, "%s", tern_error_detail());
        }
    }
    return status != TERN_OK || first == TERN_OK ? status : tern_fail(first, "%s", text);
}

/* [out] index: of a request that is complete and whose outcome was not returned yet, or count.
 * [out] first: of the first request under way, or count. */
static void requests_look(tern_worker *worker, tern_request *requests, size_t count, size_t *index,
                          size_t *first) {
    *first = count;
    for (*index = 0; *index < count; ++*index) {
        tern_request *request = &requests[*index];
        if (request->kind == NULL || request->told)
            continue;
        if (request_look(worker, request))
            return;
        if (*first == count)
            *first = *index;
    }
}

tern_status tern_wait_any(tern_worker *worker, tern_request *requests, size_t count,
                          size_t *index) {
    static const char name[] = "tern_wait_any";
    tern_status status = requests_check(worker, requests, count, name);
    if (status == TERN_OK && index == NULL)
        status = tern_fail(TERN_ERR_ARGUMENT, "%s: index is NULL", name);
    if (status != TERN_OK)
        return status;
    tern_wait_state wait = TERN_WAIT_IN(name);
    size_t over, first;
    for (;;) {
        requests_look(worker, requests, count, &over, &first);
        if (over < count || first == count)
            break;
        status = request_may_wait(worker, name);
        if (status != TERN_OK)
            return status;
        if (tern_wait_round(worker->context, &wait, tern_progress_round(worker),
                            requests[first].rank) != TERN_OK) {
            over = first; /* the wait for it fails with the same status */
            break;
        }
    }
    *index = over;
    if (over == count)
        return TERN_OK;
    return request_wait(worker, &requests[over], name);
}
