#ifndef TERN_RPC_LENT_LEND_H
#define TERN_RPC_LENT_LEND_H

/*
 * Calls whose payload no ring takes. What would follow the extension in the record lies in memory
 * that the caller's rank lends (rpc/lent/held.h), and a tern_loan takes its place in the record.
 * Targets fetch it before anything else (rpc/call/extended.c), each rank of a broadcast from the
 * first one.
 */

#include "rpc/call/extended.h"
#include "rpc/call/send.h"

/* Sends an extended call, piece[0] of which is e, whatever its size, to so many readers. TERN_ERR_
 * AGAIN: memory is lacking that earlier such calls hold, and full is not to wait; TERN_ERR_MEMORY;
 * TERN_ERR_RANGE: more than TERN_CHUNK_MAX; else as tern_outgoing_send. */
tern_status tern_extended_send(tern_worker *worker, tern_outgoing *call, tern_extension *e,
                               tern_full full, uint64_t readers);

/* Makes a call whose arguments no ring takes. header: as tern_call_header gives it; future: of the
 * result, or NULL. */
tern_status tern_call_large(tern_worker *worker, uint32_t target, uint64_t header,
                            const void *arguments, size_t bytes, tern_full full,
                            tern_future *future);

#endif
