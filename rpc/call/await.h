#ifndef TERN_RPC_CALL_AWAIT_H
#define TERN_RPC_CALL_AWAIT_H

/* Calls whose answer their origin waits for. A request of a program (tern/request.h) holds one. */

#include "rma/reply/reply.h"
#include "rpc/call/send.h"
#include "src/progress/request.h"
#include "tern/call.h"

/* An answer under way: of worker number target, into the cell of this worker. */
typedef struct tern_answer {
    uint64_t sequence;
    uint32_t cell;
    uint32_t target;
} tern_answer;

/* A call of the function with this wire number was sent whose answer goes to back. */
tern_answer tern_answer_expect(tern_worker *worker, uint32_t target, uint32_t function,
                               const tern_return_address *back);

/* Makes a call and returns. Errors as tern_call_start. */
tern_status tern_answer_ask(tern_worker *worker, tern_worker_id target,
                            const tern_function *function, const void *arguments, size_t bytes,
                            tern_answer *answer);
/* Waits for the answer, and hands it out as tern_call_return does. Where waiting is allowed. */
tern_status tern_answer_wait(tern_worker *worker, const tern_answer *answer, void *result,
                             size_t capacity, size_t *result_bytes);

/* Of requests that hold an answer. */
extern const tern_request_kind tern_answer_kind;
/* TERN_ERR_ARGUMENT: no request can be started with these, as function was asked to. */
tern_status tern_answer_check_request(const void *result, size_t capacity,
                                      const tern_request *request, const char *function);
/* Makes a request of an answer under way; as tern_call_start. */
void tern_answer_request(tern_worker *worker, const tern_answer *answer, void *result,
                         size_t capacity, tern_request *request);
/* Of a call that was waited for: whether its outcome is the other rank's. If not, nobody knows
 * whether the function has run. */
bool tern_answer_came(const tern_request *request);
/* From now on a result of less bytes than the request has room for is an error. */
void tern_answer_request_all(tern_request *request);

/* TERN_ERR_MISMATCH in the place of TERN_OK if other than the wanted bytes have come. */
tern_status tern_answer_check_size(tern_status status, size_t got, size_t wanted);

#endif
