#ifndef TERN_RPC_LENT_LENT_H
#define TERN_RPC_LENT_LENT_H

/*
 * Held memory: bytes of this rank's segment that other workers fetch: results that no reply cell
 * takes (rpc/lent/result.c), and calls that no ring takes (rpc/lent/lend.c). A counter lies in
 * front of them:
 *
 *     readers that have still to fetch: 8 bytes | 56 unused | the bytes
 *
 * The holder lends the memory and tells its readers the loan. Each reader copies the bytes and then
 * lowers the counter as it lowers a synchronizer's (rpc/synchronizer.h). The holder's progress
 * gives the memory back when the counter is 0. So a reader alone writes to its own memory, and one
 * that gives up has nothing to fear from the holder.
 *
 * What threads without a worker lend is in one list of the process, under a lock. The progress of
 * every worker of the process gives it back.
 */

#include "rpc/call/await.h"
#include "rpc/call/extended.h"
#include "rpc/call/send.h"
#include "rpc/state.h"

typedef struct tern_held tern_held;

/* What a reader is told. */
typedef struct tern_loan {
    tern_ptr counter;
    uint64_t bytes;
} tern_loan;

/* Memory of this rank's segment for so many bytes, not lent yet. TERN_ERR_MEMORY. */
tern_status tern_held_create(tern_worker *worker, size_t bytes, tern_held **held);

char *tern_held_data(const tern_worker *worker, const tern_held *held);
size_t tern_held_bytes(const tern_held *held);

/* Gives back memory that was never lent; NULL is fine. */
void tern_held_drop(tern_worker *worker, tern_held *held);

/* Lends the first bytes to so many readers. rank: of the only reader, whose death ends the loan, or
 * TERN_ANYBODY. The progress of the worker drops it. */
tern_loan tern_held_lend(tern_worker *worker, tern_held *held, size_t bytes, uint64_t readers,
                         uint32_t rank);

/* The same for a call: all of it. Its readers need nothing of the application to let go. */
tern_loan tern_held_lend_call(tern_worker *worker, tern_held *held, uint64_t readers,
                              uint32_t rank);

/* Whether the loan, which came from elsewhere, names memory of that rank's segment. [out] data:
 * where the bytes lie. TERN_ERR_RANGE, TERN_ERR_ARGUMENT. */
tern_status tern_loan_check(const tern_worker *worker, const tern_loan *loan, uint32_t rank,
                            tern_ptr *data);

/* A reader lets go of what it was lent. There has to be room for a notice (rpc/synchronizer.h). */
void tern_loan_end(tern_worker *worker, const tern_loan *loan);

/* The only reader of the oldest call's memory that has only one, or TERN_ANYBODY. */
uint32_t tern_held_reader(const tern_worker *worker);

/* How many loans of calls have not ended, and how many loans have. */
uint32_t tern_held_calls(const tern_worker *worker);
uint64_t tern_held_over(const tern_worker *worker);

/* A rank that gets what a call carries with help from here, and has not got it: rank, or any for
 * TERN_ANYBODY; TERN_NOBODY. */
uint32_t tern_held_unsent(const tern_worker *worker, uint32_t rank);

/* Gives back all that is no longer needed. False: there was nothing. */
bool tern_held_reclaim(tern_worker *worker);

/* Gives back what is no longer needed; how many. The progress of the layer. */
size_t tern_held_advance(tern_worker *worker);

void tern_held_discard(tern_worker *worker);

/*
 * lend.c: calls whose payload no ring takes. What would follow the extension in the record lies in
 * memory that the caller's rank lends, and a tern_loan takes its place in the
 * record. Targets fetch it before anything else (rpc/call/extended.c), each rank of a broadcast
 * from the first one.
 */

/* Sends an extended call, piece[0] of which is e, whatever its size, to so many readers. TERN_ERR_
 * AGAIN: memory is lacking that earlier such calls hold, and full is not to wait; TERN_ERR_MEMORY;
 * TERN_ERR_RANGE: more than TERN_CHUNK_MAX; else as tern_outgoing_send. */
tern_status tern_extended_send(tern_worker *worker, tern_outgoing *call, tern_extension *e,
                               tern_full full, uint64_t readers);

/* Makes a call whose arguments no ring takes. header: as tern_call_header gives it; [out] answer:
 * of the result; or NULL. */
tern_status tern_call_large(tern_worker *worker, tern_call_target route, uint64_t header,
                            const void *arguments, size_t bytes, tern_full full,
                            tern_answer *answer);

/*
 * result.c: results that no reply cell takes. The handler asks for room in its own segment
 * (tern_call_result), and the reply lends that room to the caller. The caller,
 * who alone knows its buffer, copies the bytes to it and lets the room go.
 */

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
