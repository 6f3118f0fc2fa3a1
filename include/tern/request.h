#ifndef TERN_REQUEST_H
#define TERN_REQUEST_H

/*
 * Requests: operations that start and return, so that the program does something else, or starts
 * more, while they are under way. One type serves puts, gets and atomics (tern/transfer.h), calls
 * with a result (tern/call.h, tern/archive.h, tern/remote.h), operations on hash tables
 * (tern/hashtable.h), pushes and pops (tern/queue.h) and posts (tern/rendezvous.h).
 * But for posts all their functions end in _start:
 *
 *     tern_request request[2] = {0};
 *     status = tern_get_start(worker, &word, place, sizeof word, &request[0]);
 *     status = tern_call_start(worker, target, &function, NULL, 0, &sum, sizeof sum, &request[1]);
 *     ...
 *     status = tern_wait_all(worker, request, 2);
 *
 * A start that fails starts nothing and leaves the request as it was. Whatever becomes of an
 * operation that was started, the request tells, once it is complete.
 *
 * A request belongs to the worker that has started it, or to the thread without one
 * (tern/message.h), and is used by that thread alone. What an
 * operation reads or writes belongs to tern until its request is complete. Requests have to be
 * complete before the context is destroyed.
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
    const struct tern_request_kind *kind; /* of its last operation; NULL: there was none */
    int16_t outcome;                      /* a tern_status, or -1: under way */
    uint8_t told;                         /* whether a wait has returned the outcome */
    uint32_t rank;                        /* the other rank */
    uint64_t result;
    void *to;    /* where the result of a call goes, */
    size_t room; /* and how many bytes fit there */
    uint64_t own[3];
} tern_request;

/* Looks whether a request is complete, making progress; never waits for another rank. [out] done: 1
 * if it is, whatever became of its operation: tern_wait tells. In a handler it only looks. Where a
 * call gave an error, or more than TERN_RESULT_MAX, done is 1 too, but the result is there when
 * tern_wait has returned. TERN_ERR_ARGUMENT. */
TERN_NODISCARD TERN_API tern_status tern_test(tern_worker *worker, tern_request *request,
                                              int *done);

/* Waits until a request is complete, making progress. Returns what became of its operation, as
 * often as it is asked until the request is used again; the text of a handler's error comes the
 * first time only. Errors are those of the blocking operation. TERN_ERR_PEER: the other rank has
 * died, and the operation may or may not have been done; over rma and p2p MPI may still read or
 * write the memory of a put or a get, which has to stay what it is until MPI_Finalize.
 * TERN_ERR_STATE: in a handler, and the request is not complete. */
TERN_NODISCARD TERN_API tern_status tern_wait(tern_worker *worker, tern_request *request);

/* Waits until all of count requests are complete. Returns the first outcome in their order that is
 * not TERN_OK; each request still tells its own. */
TERN_NODISCARD TERN_API tern_status tern_wait_all(tern_worker *worker, tern_request *requests,
                                                  size_t count);

/* Waits until one of count requests is complete, and returns what became of its operation. Passes
 * over requests whose outcome a wait has returned before, and those that have started nothing.
 * [out] index: which it is; count if there is none left, and then TERN_OK. So this goes through all
 * of them, in the order in which they end:
 *
 *     while ((status = tern_wait_any(worker, requests, count, &index)) == TERN_OK && index < count)
 */
TERN_NODISCARD TERN_API tern_status tern_wait_any(tern_worker *worker, tern_request *requests,
                                                  size_t count, size_t *index);

/* Of a request that is complete with TERN_OK: how many bytes a call gave, or have been moved of
 * a post; of an operation on a table or a queue what its start says. Otherwise 0. */
TERN_INLINE uint64_t tern_request_result(const tern_request *request) { return request->result; }

#ifdef __cplusplus
}
#endif

#endif
