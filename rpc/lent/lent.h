#ifndef TERN_RPC_LENT_LENT_H
#define TERN_RPC_LENT_LENT_H

/*
 * Held memory is memory of this rank's segment from which other workers fetch results that are too
 * large for a reply cell (rpc/lent/result.c) and calls that are too large for a ring
 * (rpc/lent/lend.c). A counter lies in front of the bytes:
 *
 *     readers that have still to fetch: 8 bytes | 56 unused | the bytes
 *
 * The holder lends the memory and tells its readers the loan. Each reader copies the bytes and then
 * lowers the counter as it lowers a synchronizer's (rpc/synchronizer.h). The holder's progress
 * gives the memory back when the counter is 0. So only the reader writes to its own memory: if it
 * gives up, the holder will not write there later.
 *
 * The loans of threads without a worker are in one list of the process, under a lock. The progress
 * of every worker of the process gives their memory back.
 */

#include "rpc/call/await.h"
#include "rpc/call/extended.h"
#include "rpc/call/send.h"
#include "rpc/state.h"

typedef struct tern_held tern_held;

/* What the holder tells a reader. */
typedef struct tern_loan {
    tern_ptr counter;
    uint64_t bytes;
} tern_loan;

/* Allocates memory of this rank's segment for so many bytes, and does not lend it yet. Returns
 * TERN_ERR_MEMORY if there is too little. */
tern_status tern_held_create(tern_worker *worker, size_t bytes, tern_held **held);

char *tern_held_data(const tern_worker *worker, const tern_held *held);
size_t tern_held_bytes(const tern_held *held);

/* Gives back memory that was never lent; NULL is fine. */
void tern_held_drop(tern_worker *worker, tern_held *held);

/* Lends the first bytes to so many readers. rank: the rank of the only reader, whose death ends the
 * loan, or TERN_ANYBODY. The worker's progress frees the memory when the loan has ended. */
tern_loan tern_held_lend(tern_worker *worker, tern_held *held, size_t bytes, uint64_t readers,
                         uint32_t rank);

/* Lends all of the memory, for a call. Its readers end such a loan without any help of the
 * application. */
tern_loan tern_held_lend_call(tern_worker *worker, tern_held *held, uint64_t readers,
                              uint32_t rank);

/* Checks that a loan, which came from another rank, names memory of that rank's segment. [out]
 * data: where the bytes lie. TERN_ERR_RANGE, TERN_ERR_ARGUMENT. */
tern_status tern_loan_check(const tern_worker *worker, const tern_loan *loan, uint32_t rank,
                            tern_ptr *data);

/* Ends a loan: the reader lowers the counter. There must be room for a notice (rpc/synchronizer.h).
 */
void tern_loan_end(tern_worker *worker, const tern_loan *loan);

/* Returns the reader's rank of the oldest loan of a call that has a single reader, or TERN_ANYBODY
 * if there is no such loan. */
uint32_t tern_held_reader(const tern_worker *worker);

/* Return how many loans of calls have not ended, and how many loans of any kind have ended. */
uint32_t tern_held_calls(const tern_worker *worker);
uint64_t tern_held_over(const tern_worker *worker);

/* Returns a rank that still has to get the data of a call and needs this rank's help for that, or
 * TERN_NOBODY. Considers only rank, or all ranks if rank is TERN_ANYBODY. */
uint32_t tern_held_unsent(const tern_worker *worker, uint32_t rank);

/* Gives back all memory whose loans have ended. Returns false if no loan had ended. */
bool tern_held_reclaim(tern_worker *worker);

/* Gives back memory whose loans have ended, in the order of the loans, and returns the number of
 * loans. Part of the layer's progress. */
size_t tern_held_advance(tern_worker *worker);

void tern_held_discard(tern_worker *worker);

/*
 * lend.c: calls whose payload is too large for a ring. The bytes that would follow the extension in
 * the record lie in memory that the caller's rank lends, and a tern_loan takes their place in the
 * record. Targets fetch them before anything else (rpc/call/extended.c); each rank of a broadcast
 * fetches them from the rank that made the broadcast.
 */

/* Sends an extended call of any size, piece[0] of which is e, to so many readers. TERN_ERR_AGAIN:
 * earlier such calls hold the memory, and full says not to wait; TERN_ERR_MEMORY; TERN_ERR_RANGE:
 * more than TERN_CHUNK_MAX; other errors are those of tern_outgoing_send. */
tern_status tern_extended_send(tern_worker *worker, tern_outgoing *call, tern_extension *e,
                               tern_full full, uint64_t readers);

/* Makes a call whose arguments are too large for a ring. header: as tern_call_header gives it;
 * [out] answer: for the result; NULL: no result is wanted. */
tern_status tern_call_large(tern_worker *worker, tern_call_target route, uint64_t header,
                            const void *arguments, size_t bytes, tern_full full,
                            tern_answer *answer);

/*
 * result.c: results that are too large for a reply cell. The handler asks for room in its own
 * segment (tern_call_result), and the reply lends that room to the caller. Only the caller knows
 * its buffer: it copies the bytes there and ends the loan.
 */

/* The status of a reply whose payload is a tern_loan. */
#define TERN_RESULT_LENT TERN_STATUS_COUNT

/* Lends the result that the handler has left in call to the caller's rank. [out] loan.
 * TERN_ERR_RANGE: the result is larger than the room that the handler has asked for. */
tern_status tern_result_lend(tern_worker *worker, const tern_call_info *call, const char *name,
                             tern_loan *loan);

/* Copies a result that rank lends to the caller's memory of capacity bytes and ends the loan.
 * Waits, making progress. TERN_ERR_RANGE: the result does not fit; TERN_ERR_MISMATCH: payload is
 * not a loan; other errors are those of tern_get. */
tern_status tern_result_take(tern_worker *worker, uint32_t rank, const void *payload, size_t bytes,
                             void *result, size_t capacity, size_t *result_bytes);

/* Gives back the room that the last handler has asked for, if it was not lent. */
void tern_result_drop(tern_worker *worker);

#endif
