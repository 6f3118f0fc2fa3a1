#ifndef TERN_RPC_CALL_EXTENDED_H
#define TERN_RPC_CALL_EXTENDED_H

/*
 * Extended calls: tern_call_with, tern_call_all, calls with chunks and calls that are too large
 * for a ring send these. A call of tern_call_with to a ring goes as a plain call
 * (rpc/call/execute.c) if it fits a record, has no synchronizer, and has no buffer or a buffer
 * inside. The payload of an extended call's record:
 *
 *     tern_extension | arguments, to a multiple of 8 bytes | buffer or list that goes with the call
 *
 * If the payload is larger than a ring takes, a tern_loan replaces everything behind the extension.
 * The target first fetches the memory that the loan names (rpc/lent/lend.c).
 *
 * The work before and after the function of such a call may take several rounds of progress. A task
 * records how far the call is. Meanwhile the record stays at the head of its ring, which keeps the
 * order of the pair. If the buffer is got aside (TERN_BUFFER_GET_ASIDE) the record is copied
 * instead, and the ring goes on.
 */

#include "rma/message/inbox.h"
#include "rpc/state.h"

typedef struct tern_extension {
    tern_ptr counter; /* of the synchronizer to lower; null: none */
    tern_ptr from;    /* where the target gets the buffer */
    tern_ptr gaddr; /* where the buffer is or goes, or null; the target uses it with its own rank in
                       place of the one that it names */
    uint64_t buffer_bytes;
    uint32_t arguments; /* bytes */
    uint32_t origin;    /* number of the worker that made the call */
    uint8_t transfer;   /* tern_buffer_transfer */
    uint8_t flags;      /* TERN_CALL_OF_THREAD and the like */
    uint8_t notify;     /* tern_notify_on */
    uint8_t lent;       /* 1: a tern_loan follows */
    uint32_t arity;     /* of a broadcast: ranks that each rank passes it on to; 0: it ends here */
    tern_return_address answer; /* of the worker that waits for the result; sequence 0: nobody */
} tern_extension;

enum {
    TERN_CALL_OF_THREAD = 1, /* a thread without a worker made the call, in the origin's process */
    TERN_CALL_BY_MESSAGE = 2 /* ranks pass the broadcast on by messages */
};

/* Two more values of `transfer`, which only tern_call_archive uses: a list of chunks follows the
 * arguments (rpc/archive/fetch.h). */
enum { TERN_BUFFER_CHUNKS = TERN_BUFFER_GET_ASIDE + 1, TERN_BUFFER_CHUNKS_ASIDE };

/* Consumes an extended call from the head of in. */
size_t tern_call_extended(tern_worker *worker, tern_in *in);

/* Goes on with an extended call that has come by message, as far as it can now. Returns whether the
 * message is no longer needed. */
bool tern_call_extended_message(tern_worker *worker, const tern_inbox_message *message);

/* Goes on with the calls whose records were copied, and returns how many of them have ended. Part
 * of the layer's progress. */
size_t tern_tasks_advance(tern_worker *worker);

/* Returns whether this worker has a broadcast that it has not passed on to all children. */
bool tern_tasks_pass_on(const tern_worker *worker);

void tern_tasks_discard(tern_worker *worker);

/* How far a broadcast has been passed on. */
typedef struct tern_passing {
    uint32_t told;   /* children to which the call was sent */
    uint64_t put;    /* bytes of the buffer that were put to the next child */
    uint64_t losses; /* tern_port_losses when that put began */
} tern_passing;

/* Passes a broadcast on to its children (rpc/broadcast.c), one after the other: puts the buffer, if
 * it is to be put, and sends the call. Returns false if there was no room; call it again later.
 * own: also passes the call on to the other workers of this rank; set it only when the buffer is
 * here. */
bool tern_broadcast_pass(tern_worker *worker, const tern_extension *e, uint32_t id,
                         const char *rest, size_t bytes, bool own, tern_passing *passing);

#endif
