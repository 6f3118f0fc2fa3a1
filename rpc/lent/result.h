#ifndef TERN_RPC_LENT_RESULT_H
#define TERN_RPC_LENT_RESULT_H

/*
 * Results that no reply cell takes. The handler asks for room in its own segment
 * (tern_call_result), and the reply lends that room to the caller (rpc/lent/held.h). The caller,
 * who alone knows its buffer, copies the bytes to it and lets the room go.
 */

#include "rpc/lent/held.h"

/* The status of a reply whose payload is a tern_loan. */
#define TERN_RESULT_LENT TERN_STATUS_COUNT

/* Lends the result that the handler has left in call to the caller's rank. [out] loan.
 * TERN_ERR_RANGE: the result is larger than the room that the handler has asked for. */
tern_status tern_result_lend(tern_worker *worker, const tern_call_info *call, const char *name,
                             tern_loan *loan);

/* Copies a result that rank lends into memory of so many bytes and lets go of it. Waits with
 * progress. TERN_ERR_RANGE: it does not fit; TERN_ERR_MISMATCH: payload is no loan; as tern_get. */
tern_status tern_result_take(tern_worker *worker, uint32_t rank, const void *payload, size_t bytes,
                             void *result, size_t capacity, size_t *result_bytes);

/* Gives back room that the last handler has asked for and nobody was sent. */
void tern_result_drop(tern_worker *worker);

#endif
