#ifndef TERN_REQUEST_H
#define TERN_REQUEST_H

/*
 * Requests: a function starts an operation and returns, so that the program can do something else,
 * or start more, while the operation is under way. One type serves puts, gets and atomics
 * (tern/transfer.h), calls with a result (tern/call.h, tern/archive.h, tern/remote.h), operations
 * on hash tables (tern/hashtable.h), pushes and pops (tern/queue.h) and posts (tern/rendezvous.h).
 * The names of all these functions end in _start, except those of posts:
 *
 *     tern_request request[2] = {0};
 *     status = tern_get_start(worker, &word, place, sizeof word, &request[0]);
 *     status = tern_call_start(worker, target, &function, NULL, 0, &sum, sizeof sum, &request[1]);
 *     ...
 *     status = tern_wait_all(worker, request, 2);
 *
 * A start that fails starts nothing and leaves the request as it was. If the start succeeds, the
 * request tells the outcome of the operation once it is complete.
 *
 * A request belongs to the worker that has started it, or to a thread without a worker
 * (tern/message.h), and only that thread uses it. The memory that an operation reads or writes
 * belongs to tern until its request is complete. Requests have to be complete before the context is
 * destroyed.
 */

#include <stddef.h>
#include <stdint.h>

#include "tern/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owned by the program. Zero it before its first use: then it is complete, with TERN_OK and 0. It
 * must not be copied, moved or used again while its operation is under way. */
typedef struct tern_request {
    /* For tern alone. */
    const struct tern_request_kind *kind; /* of its last operation; NULL: it had no operation yet */
    int16_t outcome;                      /* a tern_status, or -1: under way */
    uint8_t told;                         /* whether a wait has returned the outcome */
    uint32_t rank;                        /* the other rank */
    uint64_t result;
    void *to;    /* memory for the result of a call, */
    size_t room; /* and its size in bytes */
    uint64_t own[3];
} tern_request;

/* Checks whether a request is complete, making progress; never waits for another rank. [out] done:
 * 1 if the request is complete, whether its operation succeeded or not: tern_wait tells that. In a
 * handler it makes no progress. If a call failed, or its result has more than TERN_RESULT_MAX
 * bytes, done is 1 although the result arrives only with tern_wait. TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_API tern_status tern_test(tern_worker *worker, tern_request *request,
                                              int *done);

/* Waits until a request is complete, making progress. Returns the outcome of its operation, also
 * when it is called again before the request is reused; only the first call sets the text of a
 * handler's error. Errors are those of the blocking operation. TERN_ERR_PEER: the other rank has
 * died, and the operation may or may not have been done; over rma and p2p MPI may still read or
 * write the memory of a put or a get, which must not be freed or reused until MPI_Finalize.
 * TERN_ERR_STATE: in a handler, and the request is not complete. */
TERN_NODISCARD TERN_API tern_status tern_wait(tern_worker *worker, tern_request *request);

/* Waits until all count requests are complete. Returns the first outcome, in their order, that is
 * not TERN_OK; tern_wait still returns the outcome of each request. */
TERN_NODISCARD TERN_API tern_status tern_wait_all(tern_worker *worker, tern_request *requests,
                                                  size_t count);

/* Waits until one of count requests is complete, and returns the outcome of its operation. Skips
 * requests whose outcome a wait has returned before, and those that have started nothing. [out]
 * index: the index of that request; if no request is left, count, and the status is TERN_OK. So
 * this loop visits all requests in the order in which they end:
 *
 *     while ((status = tern_wait_any(worker, requests, count, &index)) == TERN_OK && index < count)
 */
TERN_NODISCARD TERN_API tern_status tern_wait_any(tern_worker *worker, tern_request *requests,
                                                  size_t count, size_t *index);

/* Returns the result of a request that is complete with TERN_OK: for a call the bytes of its
 * result, for a post the bytes that were moved, for an operation on a table or a queue what the
 * comment of its start says. Otherwise 0. */
TERN_INLINE uint64_t tern_request_result(const tern_request *request) { return request->result; }

#ifdef __cplusplus
}
#endif

#endif
