#ifndef TERN_RPC_CALL_EXTENDED_H
#define TERN_RPC_CALL_EXTENDED_H

/*
 * Extended calls: what tern_call_with and tern_broadcast send, but for calls with a buffer inside
 * and no synchronizer, which are plain ones (rpc/call/execute.c). The record's payload:
 *
 *     tern_extension | arguments, to a multiple of 8 bytes | buffer or list that goes with the call
 *
 * Where that is more than a ring takes the record has a tern_loan instead of all that follows the
 * extension, and what it names is fetched first (rpc/lent/lend.c).
 *
 * What such a call has to do before and after its function runs may take several rounds of
 * progress. A task holds how far it is. Meanwhile the record stays at the head of its ring, and so
 * the pair's order is kept; one whose buffer is got aside is copied, and the ring goes on.
 */

#include "rma/message/inbox.h"
#include "rpc/state.h"

typedef struct tern_extension {
    tern_ptr counter; /* to be lowered; null: none */
    tern_ptr from;    /* where the buffer is got */
    tern_ptr place;   /* where it is or goes, at the target whatever rank it names; or null */
    uint64_t buffer_bytes;
    uint32_t arguments; /* bytes */
    uint32_t origin;    /* worker number of who made the call */
    uint8_t way;        /* tern_buffer_way */
    uint8_t flags;      /* TERN_CALL_OF_THREAD and the like */
    uint8_t notify;     /* tern_notify_on */
    uint8_t lent;       /* 1: a tern_loan follows */
    uint32_t arity;     /* of a broadcast: ranks that each rank passes it on to; 0: it ends here */
    tern_return_address answer; /* of who waits for the result; sequence 0: nobody */
} tern_extension;

enum {
    TERN_CALL_OF_THREAD = 1, /* a thread without a worker made it, in the origin's process */
    TERN_CALL_BY_MESSAGE = 2 /* a broadcast is passed on by messages */
};

/* Ways that only tern_call_archive takes: a list of chunks follows the arguments
 * (rpc/archive/fetch.h). */
enum { TERN_WAY_CHUNKS = TERN_BUFFER_GET_ASIDE + 1, TERN_WAY_CHUNKS_ASIDE };

/* Consumes one from the head of in. */
size_t tern_call_extended(tern_worker *worker, tern_in *in);

/* Goes on with one that has come by message, as far as it goes now; whether the message is not
 * needed any more. */
bool tern_call_extended_message(tern_worker *worker, const tern_inbox_message *message);

/* Goes on with those that were copied; how many are over. The progress of the layer. */
size_t tern_tasks_advance(tern_worker *worker);

/* Whether some broadcast has not been passed on to all children. */
bool tern_tasks_pass_on(const tern_worker *worker);

void tern_tasks_discard(tern_worker *worker);

/* How far a broadcast has been passed on. */
typedef struct tern_passing {
    uint32_t told; /* children that have the call */
    uint64_t put;  /* bytes of the buffer that were put to the next one */
} tern_passing;

/* A broadcast's children (rpc/broadcast.c): one after the other gets the buffer, if it is put, and
 * the call. False: no room, later. own: the other workers of this rank too, as it reads once the
 * buffer is here. */
bool tern_broadcast_pass(tern_worker *worker, const tern_extension *e, uint32_t id,
                         const char *rest, size_t bytes, bool own, tern_passing *passing);

#endif
