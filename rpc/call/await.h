#ifndef TERN_RPC_CALL_AWAIT_H
#define TERN_RPC_CALL_AWAIT_H

/* Calls for whose answer the origin waits. A request of a program (tern/request.h) can hold such an
 * answer. */

#include "rma/reply/reply.h"
#include "rpc/call/send.h"
#include "src/progress/request.h"
#include "tern/call.h"

/* An answer under way: worker number target will write it into a reply cell of this worker. */
typedef struct tern_answer {
    uint64_t sequence;
    uint32_t cell;
    uint32_t target;
} tern_answer;

/* Notes that a call of the function with this wire number was sent, and that its answer goes to
 * back. */
tern_answer tern_answer_expect(tern_worker *worker, uint32_t target, uint32_t function,
                               const tern_return_address *back);

/* Makes a call and returns without waiting for its answer. Errors are those of tern_call_start. */
tern_status tern_answer_ask(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes,
                            tern_answer *answer);
/* Waits for the answer, and copies it as tern_call_return does. Call it only where waiting is
 * allowed. */
tern_status tern_answer_wait(tern_worker *worker, const tern_answer *answer, void *result,
                             size_t capacity, size_t *result_bytes);

/* The functions of requests that hold an answer. */
extern const tern_request_kind tern_answer_kind;
/* Checks the arguments of a function that starts a request. Returns TERN_ERR_ARGUMENT, with a text
 * that names function, if one is wrong. */
tern_status tern_answer_check_request(const void *result, size_t capacity,
                                      const tern_request *request, const char *function);
/* Puts an answer under way into a request, as tern_call_start does. */
void tern_answer_request(tern_worker *worker, const tern_answer *answer, void *result,
                         size_t capacity, tern_request *request);
/* Returns whether the outcome of a call that was waited for came from the other rank. If not, it is
 * not known whether the function has run. */
bool tern_answer_came(const tern_request *request);
/* Makes a result of fewer bytes than the request has room for an error. */
void tern_answer_request_all(tern_request *request);

/* Returns TERN_ERR_MISMATCH in place of TERN_OK if the result has not the wanted number of bytes.
 */
tern_status tern_answer_check_size(tern_status status, size_t got, size_t wanted);

#endif
